"""`make looks`: pictures of the pages, taken of a Rung of its own with the demo in it and people who play.

Without arguments the few that the README shows; with `--all FOLDER` every page, on a phone and a desk, in both lights.
"""

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from config.embedded.home import PROJECT_ROOT
from config.embedded.ports import free_port
from tests.pages.browser import Browser, Visitor, executable
from tests.whole import Rung

SHOWN = PROJECT_ROOT / "docs" / "looks"
PLAYER = "p-5"  # who plays every mode of the demo
PLAYED = ("--rate", "15", "--seconds", "20", "--seed", "7")
BOARD = "/g/demo/arcade/daily"
PRIVATE = '[games.vault]\ntitle = "Vault"\npublic = false\n[games.vault.modes.heist]\n'
WIDTHS, LIGHTS = (1440, 390), ("light", "dark")


@dataclass(frozen=True, slots=True)
class Look:
    name: str
    path: str
    signed_in: bool = False
    locale: str = "en-GB"


EVERY = [
    Look("home", "/"),
    Look("game", "/g/demo"),
    Look("board", BOARD),
    Look("board-signed-in", BOARD, signed_in=True),
    Look("board-german", BOARD, locale="de-DE"),
    Look("board-of-a-country", f"{BOARD}?scope=country:JP"),
    Look("board-page", f"{BOARD}?page=3"),
    Look("board-search", f"{BOARD}?q=no"),
    Look("board-search-nobody", f"{BOARD}?q=zzzz"),
    Look("board-laps", "/g/demo/lap/alltime"),
    Look("board-empty", "/g/demo/dodge/daily"),
    Look("profile", f"/g/demo/players/{PLAYER}"),
    Look("profile-own", f"/g/demo/players/{PLAYER}", signed_in=True),
    Look("integrate", "/g/demo/arcade/integrate"),
    Look("integrate-waiting", "/g/demo/dodge/integrate"),
    Look("embed", "/embed/demo/arcade/daily"),
    Look("link-refused", "/g/demo/enter?token=stale"),
    Look("private", "/g/vault/heist/daily"),
    Look("not-found", "/nothing"),
]
FEW = [("board-signed-in", 1440, "light"), ("board", 390, "dark"), ("home", 1440, "dark"), ("profile", 1440, "light")]


@contextmanager
def _house() -> Iterator[Rung]:
    """Played in for a while, then for as long as pictures are taken."""
    with tempfile.TemporaryDirectory(prefix="rung-looks-") as folder:
        rung = Rung(Path(folder) / "home", free_port(), demo=True)
        try:
            rung.wait_until_ready()
            declared = Path(folder) / "private.toml"
            declared.write_text(PRIVATE, encoding="utf-8")
            rung.manage("apply_config", str(declared))
            _say("People play …")
            rung.manage("simulate", "demo", "arcade", *PLAYED)
            yield rung
        finally:
            rung.end(signal.SIGTERM)


class Photographer:
    def __init__(self, browser: Browser, rung: Rung, folder: Path) -> None:
        self.browser, self.rung, self.folder = browser, rung, folder
        self.origin = f"http://127.0.0.1:{rung.port}"
        self.link = rung.manage("create_token", "demo", PLAYER, "--link", self.origin).strip()

    def take(self, look: Look, width: int, light: str, *, whole: bool) -> None:
        visitor = self.browser.visitor(self.origin, locale=look.locale, timezone_id="Europe/Berlin")
        try:
            visitor.look(width=width, scheme=light)
            if look.signed_in:
                visitor.visit(self.link.removeprefix(self.origin))
            visitor.visit(look.path)
            file = self.folder / f"{look.name}-{width}-{light}.png"
            _settle(visitor)
            visitor.page.screenshot(path=str(file), full_page=whole)
            if not whole:
                file = _slim(file)
            _say(f"  {file}  {file.stat().st_size // 1000} kB")
        finally:
            visitor.context.close()


def _settle(visitor: Visitor) -> None:
    """Until it is live, its fonts are there and nothing moves."""
    visitor.page.wait_for_timeout(900)
    visitor.page.evaluate("document.fonts.ready.then(() => true)")


def _slim(file: Path) -> Path:
    """For who clones. A smaller palette would be smaller still, but flags and the light behind the head suffer."""
    small = file.with_suffix(".webp")
    with Image.open(file) as image:
        image.convert("RGB").save(small, quality=92, method=6)
    file.unlink()
    return small


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="every page, into this folder")
    folder: Path | None = parser.parse_args().all
    path = executable()
    if path is None:
        sys.exit("looks: there is no Chromium on PATH")
    into = folder or SHOWN
    into.mkdir(parents=True, exist_ok=True)
    by_name = {look.name: look for look in EVERY}
    wanted = [(look.name, width, light) for look in EVERY for width in WIDTHS for light in LIGHTS] if folder else FEW
    _say("A Rung of its own is started …")
    browser = Browser(path)
    try:
        with _house() as rung:
            photographer = Photographer(browser, rung, into)
            for name, width, light in wanted:
                photographer.take(by_name[name], width, light, whole=folder is not None)
    finally:
        browser.close()


if __name__ == "__main__":
    main()
