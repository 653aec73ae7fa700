"""A player's country is an assigned code of ISO 3166-1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from players.countries import COUNTRIES, check_country, flag


def test_there_are_249_countries() -> None:
    assert len(COUNTRIES) == 249
    assert all(len(code) == 2 and code.isascii() and code.isupper() for code in COUNTRIES)


@pytest.mark.parametrize(("given_code", "kept"), [("DE", "DE"), ("de", "DE"), ("jP", "JP"), ("ss", "SS"), ("AX", "AX")])
def test_a_country_is_kept_in_capitals(given_code: str, kept: str) -> None:
    assert check_country(given_code) == kept


@pytest.mark.parametrize(
    "code",
    ["", "D", "DEU", "UK", "EU", "XK", "ZZ", "AN", "SU", "D1", " DE", "DE\n", "ß", "ＤＥ", "de\0", "\ud800"],
)
def test_a_code_that_is_no_country_is_refused(code: str) -> None:
    with pytest.raises(ValueError, match="is not a country"):
        check_country(code)


@given(st.text())
def test_no_text_becomes_a_country_that_is_not_one(text: str) -> None:
    try:
        assert check_country(text) in COUNTRIES
    except ValueError:
        assert text.upper() not in COUNTRIES or not text.isascii()


def test_every_country_has_a_flag_of_its_own() -> None:
    assert flag("DE") == flag("de") == "🇩🇪"
    assert flag("JP") == "🇯🇵"
    assert len({flag(code) for code in COUNTRIES}) == 249
    with pytest.raises(ValueError, match="'EU'"):
        flag("EU")
