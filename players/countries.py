"""The countries a player can be from: the assigned two-letter codes of ISO 3166-1."""

from typing import Final

_ASSIGNED: Final = """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
    CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR
    GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT
    JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY
    MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM
    PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV
    SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT
    ZA ZM ZW
"""
COUNTRIES: Final = frozenset(_ASSIGNED.split())
_REGIONAL_INDICATOR_A: Final = 0x1F1E6


def check_country(code: str) -> str:
    upper = code.upper() if code.isascii() else ""
    if upper not in COUNTRIES:
        raise ValueError(f"{code[:8]!r} is not a country; use a code of ISO 3166-1 such as 'DE'.")
    return upper


def flag(code: str) -> str:
    return "".join(chr(_REGIONAL_INDICATOR_A + ord(letter) - ord("A")) for letter in check_country(code))
