"""A real browser, in a thread of its own.

Playwright's synchronous interface keeps an event loop running in its thread, where Django then refuses its ORM and
`async_to_sync`. So that thread is not the tests': they hold stand-ins, and every call is made over there.
"""

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
_SWITCHES = (
    "--no-sandbox --headless --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()
_PATIENCE_MS = 45_000
# Chromium tells the console of most violations, this event of every one
_TELL_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", event => console.error(
    `CSP ${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""


def executable() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class StandIn:
    """Something of Playwright's, used from here as if it were at hand."""

    def __init__(self, thread: ThreadPoolExecutor, target: Any) -> None:
        self._thread, self._target = thread, target

    def __getattr__(self, name: str) -> Any:
        found = self.there(lambda: getattr(self._target, name))
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            return self.there(lambda: found(*map(_real, args), **{key: _real(value) for key, value in kwargs.items()}))

        return call

    def there(self, act: Callable[[], Any]) -> Any:
        return self._stand_in(self._thread.submit(act).result(timeout=120))

    def _stand_in(self, found: Any) -> Any:
        if isinstance(found, list):
            return [self._stand_in(one) for one in found]
        return StandIn(self._thread, found) if type(found).__module__.startswith("playwright.") else found


def _real(value: Any) -> Any:
    return value._target if isinstance(value, StandIn) else value  # noqa: SLF001 - its own kind


def wait_for(page: Any, expression: str, *, seconds: float = _PATIENCE_MS / 1000) -> None:
    """Until that is so on a page or in a frame. Playwright's own way of waiting evaluates in the page, as our policy
    forbids all but the first time.
    """
    deadline = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, f"not within {seconds} s: {expression}"
        time.sleep(0.02)


class Browser:
    def __init__(self, path: str) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="browser")
        self._playwright = StandIn(self._thread, self._thread.submit(lambda: sync_playwright().start()).result(60))
        self._chromium = self._playwright.chromium.launch(executable_path=path, args=_SWITCHES)

    def visitor(self, origin: str, **options: Any) -> "Visitor":
        return Visitor(self._chromium.new_context(base_url=origin, **options))

    def close(self) -> None:
        self._chromium.close()
        self._playwright.stop()
        self._thread.shutdown()


class Visitor:
    """One person with one tab; remembers what the browser complained about."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.complaints: list[str] = []
        self._documents: set[str] = set()
        context.set_default_timeout(_PATIENCE_MS)
        context.add_init_script(_TELL_VIOLATIONS)
        self.page = context.new_page()
        self.page.on("response", self._heard)
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))

    def _heard(self, response: Any) -> None:
        if response.request.is_navigation_request():
            self._documents.add(response.url)

    def _said(self, message: Any) -> None:
        # that a page itself is a 404 is what its test asks for; that something it needs is, is a complaint
        if message.type in {"error", "warning"} and message.location["url"] not in self._documents:
            self.complaints.append(f"{message.type}: {message.text}")

    def visit(self, path: str) -> int:
        """Opens it and says with which status it answered."""
        status: int = self.page.goto(path).status
        return status

    def text(self) -> str:
        text: str = self.page.inner_text("body")
        return text

    def submit(self, button: str = "Save") -> int:
        return self._press("button", button)

    def follow(self, link: str) -> int:
        return self._press("link", link)

    def _press(self, role: str, name: str) -> int:
        """Presses it and says with which status the page that follows answered."""
        page = _real(self.page)

        def press() -> int:
            with page.expect_navigation() as going:
                page.get_by_role(role, name=name, exact=True).click()
            status: int = going.value.status
            return status

        return self.page.there(press)

    def look(self, *, width: int, scheme: str) -> None:
        """Another window, another light, the same page."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=scheme)

    def width(self) -> int:
        """How wide the page wants to be; more than the window means that one has to scroll sideways."""
        width: int = self.page.evaluate("document.documentElement.scrollWidth")
        return width

    def too_faint(self) -> list[str]:
        """Texts with less contrast than WCAG AA asks for."""
        found: list[str] = self.page.evaluate(_TOO_FAINT)
        return found


_TOO_FAINT = """() => {
    document.getAnimations().forEach(one =>
        one.effect.getComputedTiming().endTime === Infinity ? one.cancel() : one.finish());
    const parse = colour => (colour.match(/[\\d.]+/g) ?? []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = element => {
        for (; element; element = element.parentElement) {
            const colour = parse(getComputedStyle(element).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
    };
    const written = element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    return [...document.body.querySelectorAll("*")].filter(e => written(e) && e.checkVisibility()).flatMap(element => {
        const style = getComputedStyle(element);
        const [a, b] = [light(parse(style.color)), light(behind(element))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        return contrast < (large ? 3 : 4.5)
            ? [`${element.innerText.slice(0, 40)}: ${contrast.toFixed(2)} (${style.color})`] : [];
    });
}"""
