"""Plays Dodge, the demo's game with replays, against a running Rung: over its API, as a game and its player would.

With --forge the score is better than what was played, which the replay gives away.
"""

import json
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from anticheat.demo import dodge

_GAME, _MODE = "demo", "dodge"
_PATIENCE = 30.0  # seconds for a worker to verify it


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--player", default="p-17")
        parser.add_argument("--forge", action="store_true", help="claim more than was played")
        parser.add_argument("--url", default=f"http://127.0.0.1:{settings.PORT}")

    def handle(self, *args: Any, **options: Any) -> None:
        api = _Api(options["url"])
        player, mode = options["player"], f"/v1/games/{_GAME}/modes/{_MODE}"
        vouched = api.json("POST", f"{mode}/attempts", {"player_id": player, "cap": dodge.MOST})
        attempt = vouched["attempt_id"]
        moves = dodge.moves_of_a_player(attempt)
        score = dodge.play(attempt, moves).score + (1000 if options["forge"] else 0)
        self.stdout.write(f"Played {len(moves)} waves of attempt {attempt}: claiming {score} points.")
        told = api.json("POST", f"{mode}/scores", {"player_id": player, "score": score, **_token(vouched)})
        self.stdout.write(f"Submitted: {told['fraud_check']}.")
        there = f"/v1/games/{_GAME}/players/{player}/attempts/{attempt}"
        upload = api.json("GET", f"{there}/replay")["upload"]
        sent = api.sent("PUT", upload, moves.encode(), "application/octet-stream", signed=True)
        self.stdout.write(f"Sent the replay, {len(moves)} bytes: {sent['state']}.")
        became = self._became(api, there)
        self.stdout.write(" ".join([f"It is {became['state']}.", *became["reasons"]]))

    def _became(self, api: "_Api", there: str) -> dict[str, Any]:
        ends = time.monotonic() + _PATIENCE
        while api.json("GET", f"{there}/replay")["state"] == "waiting" and time.monotonic() < ends:
            time.sleep(0.2)
        return api.json("GET", there)


def _token(vouched: dict[str, Any]) -> dict[str, Any]:
    return {"attempt_token": vouched["attempt_token"]}


class _Api:
    """With the demo's key, which `make up` has made."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        try:
            self._key = (settings.HOME.path / "demo_key").read_text(encoding="utf-8").strip()
        except OSError:
            raise CommandError("There is no demo key: start `make up` first.") from None

    def json(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        content = None if body is None else json.dumps(body).encode()
        return self.sent(method, path, content, "application/json")

    def sent(self, method: str, path: str, content: bytes | None, kind: str, *, signed: bool = False) -> dict[str, Any]:
        """`signed`: the address says enough."""
        headers = {"Content-Type": kind} | ({} if signed else {"Authorization": f"Bearer {self._key}"})
        asked = urllib.request.Request(self._url + path, data=content, method=method, headers=headers)  # noqa: S310
        try:
            with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310 - an operator names the address
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            raise CommandError(f"{method} {path}: {error.code} {error.read().decode(errors='replace')}") from None
        except urllib.error.URLError as error:
            raise CommandError(f"{self._url} does not answer: {error.reason}") from None
