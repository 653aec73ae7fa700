"""axe-core, out of the package that brings it. Our policy lets no page load it, so it is put there by hand."""

from functools import cache
from importlib import resources
from typing import Any

from tests.pages.browser import Visitor

_RUN = """async () => {
    document.getAnimations().forEach(one =>
        one.effect.getComputedTiming().endTime === Infinity ? one.cancel() : one.finish());
    const {violations} = await axe.run(document, {resultTypes: ["violations"], iframes: false});
    return violations.filter(({impact}) => ["serious", "critical"].includes(impact))
        .flatMap(({id, help, nodes}) => nodes.map(node =>
            `${id}: ${help}: ${node.html.slice(0, 120)} ${node.any[0]?.message ?? ""}`));
}"""


@cache
def _source() -> str:
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def findings(visitor: Visitor) -> list[str]:
    """What keeps people out or makes it hard for them, on the page as it stands there."""
    page: Any = visitor.page
    if not page.evaluate("'axe' in window"):
        page.evaluate(_source())
    found: list[str] = page.evaluate(_RUN)
    return found
