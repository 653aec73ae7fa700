"""Believable players for the demo, the same ones every time: handles, countries by where people play, regions."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

from players.models import Player

_REGIONS = {
    "na": {"US": 160, "CA": 28, "MX": 34},
    "sa": {"BR": 74, "AR": 22, "CL": 10, "CO": 14, "PE": 7},
    "eu": {"DE": 62, "FR": 50, "GB": 48, "PL": 30, "ES": 34, "IT": 32, "NL": 18, "SE": 15, "NO": 8, "FI": 9, "DK": 7,
           "CZ": 10, "AT": 8, "CH": 8, "PT": 9, "RO": 11, "GR": 7, "HU": 8, "UA": 20, "TR": 36, "IE": 5, "BE": 9},
    "ap": {"JP": 70, "KR": 48, "CN": 90, "IN": 62, "ID": 44, "PH": 30, "TH": 26, "VN": 30, "MY": 14, "SG": 6,
           "TW": 18, "HK": 7, "PK": 12, "BD": 10},
    "oc": {"AU": 24, "NZ": 6},
    "af": {"ZA": 12, "NG": 14, "EG": 14, "MA": 8, "KE": 6},
    "me": {"SA": 14, "AE": 7, "IL": 8},
}  # fmt: skip
_FIRST = (
    "Amber Arctic Ashen Astral Autumn Binary Blaze Brave Bright Cobalt Cosmic Crimson Crystal Dusk Echo Electric Ember "
    "Fable Feral Flint Frost Gentle Ghost Gilded Golden Granite Hazel Hidden Hollow Indigo Iron Ivory Jade Kinetic "
    "Lucky Lunar Marble Midnight Misty Neon Nimble Noble Nova Obsidian Olive Onyx Opal Pixel Polar Prime Quiet Quick "
    "Rapid Rogue Rusty Sable Salty Scarlet Shadow Silent Silver Solar Static Storm Sunny Swift Turbo Twilight Velvet "
    "Violet Wandering Wicked Wild Winter Zen"
).split()
_LAST = (
    "Badger Bard Bear Bee Bison Cat Cobra Comet Condor Coyote Crane Crow Drifter Drake Eagle Falcon Ferret Finch Fox "
    "Gecko Goose Griffin Hare Hawk Heron Hornet Jackal Jaguar Kestrel Kite Koala Lark Lemur Lion Lynx Magpie Mamba "
    "Mantis Marten Meteor Mole Moose Moth Newt Ocelot Orca Osprey Otter Owl Panda Panther Pilot Puffin Puma Quokka "
    "Rabbit Racer Raven Rider Robin Runner Sailor Salmon Seal Shark Sparrow Stag Stoat Swan Tiger Toad Viper Vole "
    "Walrus Wasp Weasel Whale Wolf Wombat Wren Yak"
).split()
_LOCAL = {
    "JP": "さくら ひなた みなと そら ゆうひ ほたる かえで つばめ".split(),
    "KR": "하늘 바다 별빛 구름 단풍 호랑이 여우비 달빛".split(),
    "CN": "星河 风行 夜雨 青山 飞鸟 流云 白鹿 长风".split(),
    "TW": "小星 山嵐 夜貓 海風 雲豹 月光".split(),
    "UA": "Сокіл Вітер Зоря Хмара Грім Ластівка".split(),
    "GR": "Αετός Κύμα Αστέρι Άνεμος Σελήνη".split(),
    "EG": "نسر نجم قمر ريح موج".split(),
    "SA": "صقر فارس برق نجم رعد".split(),
    "IN": "तारा बादल बिजली सूरज चीता".split(),
    "TH": "ดาว ฟ้า สายลม เสือ ทะเล".split(),
}


_PLACES = [(region, country) for region, shares in _REGIONS.items() for country in shares]
_WEIGHTS = [share for shares in _REGIONS.values() for share in shares.values()]


def demo_players(*, game: int, count: int, now: datetime) -> Iterator[Player]:
    chance = random.Random(20260401)  # noqa: S311 - the same players on every machine is the point
    for number in range(1, count + 1):
        player = demo_player(chance, game=game, player_id=f"p-{number}", now=now)
        player.created_at = now - timedelta(days=chance.uniform(1, 400))
        # many played today, the rest over the last weeks
        player.last_seen_at = now - timedelta(hours=chance.expovariate(1 / 30))
        yield player


def demo_player(chance: random.Random, *, game: int, player_id: str, now: datetime) -> Player:
    """A newcomer."""
    region, country = chance.choices(_PLACES, _WEIGHTS)[0]
    name = _handle(chance, country)
    return Player(game_id=game, player_id=player_id, display_name=name, country=country, region=region, created_at=now)


def _handle(chance: random.Random, country: str) -> str:
    if country in _LOCAL and chance.random() < 0.6:  # noqa: PLR2004 - most, not all, play under a name of home
        name = chance.choice(_LOCAL[country])
        return name if chance.random() < 0.3 else f"{name}{chance.randint(1, 999)}"  # noqa: PLR2004
    style = chance.random()
    first, last = chance.choice(_FIRST), chance.choice(_LAST)
    if style < 0.35:  # noqa: PLR2004
        return f"{first}{last}"
    if style < 0.6:  # noqa: PLR2004
        return f"{first} {last}"
    if style < 0.8:  # noqa: PLR2004
        return f"{last.lower()}_{chance.randint(2, 99)}"
    return f"{first.lower()}{last.lower()}{chance.randint(1, 2030)}"
