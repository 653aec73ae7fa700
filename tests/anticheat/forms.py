"""Forms as a browser would send them, read off pages; and whether anything at all has changed in the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser

from django.db import connection, transaction

_UNSENT = {"submit", "button", "reset", "file", "image"}
# what an act refused leaves behind as well: that it was tried is for the audit
_NOT_STATE = {"django_migrations", "django_session", "anticheat_auditentry", "anticheat_audithead"}
# rows, whether they were rolled back or not: these never become fewer
_WRITTEN = """
SELECT c.relname, pg_current_xact_id()::text, sum(s.n_tup_ins + s.n_tup_upd + s.n_tup_del)
FROM pg_stat_xact_user_tables s JOIN pg_class c ON c.oid = coalesce(pg_partition_root(s.relid), s.relid::regclass)
GROUP BY c.relname
"""
_read: dict[str, tuple[list[str | int], str]] = {}


class _Fields(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {}
        self._select: str | None = None
        self._options: list[tuple[str, bool]] = []
        self._text: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        name = own.get("name", "")
        if tag == "input" and name and own.get("type", "text") not in _UNSENT:
            is_box = own.get("type") in {"checkbox", "radio"}
            if not is_box or "checked" in own:
                self.found.setdefault(name, []).append(own.get("value", "on" if is_box else ""))
        elif tag == "select" and name:
            self._select, self._options = name, []
        elif tag == "option" and self._select is not None:
            self._options.append((own.get("value", ""), "selected" in own))
        elif tag == "textarea" and name:
            self._text = name
            self.found.setdefault(name, [""])

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            before = self.found[self._text][0]
            self.found[self._text] = [before + (data if before else data.removeprefix("\r").removeprefix("\n"))]

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._text = None
        elif tag == "select" and self._select is not None:
            chosen = [value for value, selected in self._options if selected]
            last = [value for value, _ in self._options if value][-1:]  # something, where nothing is chosen yet
            self.found.setdefault(self._select, []).extend(chosen if any(chosen) else last)
            self._select = None


def filled_in(html: str) -> dict[str, list[str]]:
    """All fields of a page, with another word in those that are free."""
    parser = _Fields()
    parser.feed(html)
    fields = {name: values for name, values in parser.found.items() if name != "csrfmiddlewaretoken"}
    for name in ("title", "display_name", "label", "reason", "note", "why", "username", "name", "description", "slug"):
        if name in fields:
            fields[name] = [f"{fields[name][0]}x"]
    return fields


def fingerprint() -> dict[str, str]:
    """Of every table. What was not written to since it was last read in this transaction is not read again."""
    with connection.cursor() as cursor:
        cursor.execute(_WRITTEN)
        written = {table: so_far for table, *so_far in cursor.fetchall() if table not in _NOT_STATE}
        for table, rows in written.items():
            if _read.get(table, (None,))[0] != rows:
                cursor.execute(f'SELECT md5(string_agg(t::text, chr(10) ORDER BY t::text)) FROM "{table}" t')  # noqa: S608
                _read[table] = rows, cursor.fetchone()[0]
    return {table: _read[table][1] for table in sorted(written)}


@contextmanager
def undone() -> Iterator[None]:
    """What is done in here is rolled back, and so is what was read of it."""
    point, before = transaction.savepoint(), dict(_read)
    try:
        yield
    finally:
        transaction.savepoint_rollback(point)
        _read.clear()
        _read.update(before)
