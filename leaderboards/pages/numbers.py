"""Numbers as people of the page's language write them."""

import math
from decimal import Decimal

from django.utils.formats import number_format

_TENTH, _HUNDREDTH, _NEARLY_ALL, _ALL = 10, 1, 99, 100


def score_text(score: Decimal | int, decimals: int) -> str:
    """With exactly the decimals of its mode."""
    return number_format(score, decimal_pos=decimals, use_l10n=True, force_grouping=True)


def whole(number: int) -> str:
    return score_text(number, 0)


def percent(share: float, *, up: bool = False) -> str:
    """Of 100, with as many decimals as tell something; cut off, or rounded up: nobody is told better than it is."""
    places = 0 if _TENTH <= share <= _NEARLY_ALL or share == _ALL else 1 if _HUNDREDTH <= share <= _NEARLY_ALL else 2
    if up:
        share = math.ceil(round(share * 10**places, 6)) / 10**places
    return number_format(share, decimal_pos=places, use_l10n=True)
