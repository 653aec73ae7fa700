"""Pages of a board."""

from dataclasses import dataclass

PAGE = 50
MOST = 20_000  # pages: as far as the API's offset reaches
_LONGEST = 9  # digits


def page_asked(text: str) -> int | None:
    """A number from 1 on, of a page or a rank; thousands may be written with a separator."""
    digits = text.strip().replace(",", "").replace(".", "").replace("\u202f", "").replace(" ", "")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _LONGEST:
        return None
    return min(int(digits), MOST * PAGE) or None


@dataclass(frozen=True, slots=True)
class Paging:
    page: int
    pages: int

    @classmethod
    def of(cls, asked: int, total: int) -> "Paging":
        pages = min(MOST, max(1, -(-total // PAGE)))
        return cls(min(asked, pages), pages)

    @property
    def previous(self) -> int | None:
        return self.page - 1 if self.page > 1 else None

    @property
    def next(self) -> int | None:
        return self.page + 1 if self.page < self.pages else None

    @property
    def first_rank(self) -> int:
        return (self.page - 1) * PAGE + 1
