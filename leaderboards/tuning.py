"""How the checks of a mode are tuned, as it is declared and kept. What can be tuned is the checks' own to say."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from config.errors import InvalidRequest

_DEEPEST = 8  # far more than any check has


def plain(declared: Any, *, depth: int = 0) -> Any:
    """Numbers as JSON has them: files and bodies are read with exact ones."""
    if depth > _DEEPEST:
        raise InvalidRequest("checks: nested too deeply.", errors={"checks": ["nested too deeply"]})
    if isinstance(declared, dict):
        return {name: plain(value, depth=depth + 1) for name, value in declared.items()}
    if isinstance(declared, list):
        return [plain(value, depth=depth + 1) for value in declared]
    if isinstance(declared, Decimal):
        return int(declared) if _is_whole(declared) else float(declared)
    return declared


def _is_whole(number: Decimal) -> bool:
    return number.copy_abs() < 2**63 and number == number.to_integral_value()


def errors(checks: object, *, decimals: int) -> dict[str, list[str]]:
    """What is wrong with it, by field."""
    examine: Callable[..., dict[str, list[str]]] = import_string(settings.TUNING_EXAMINER)
    return examine(checks, decimals=decimals)
