"""Gathers what pages say into `locale/`, and compiles it. Gathering needs GNU gettext; compiling needs Babel only."""

import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileParser, write_po
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.utils.translation import to_locale

_SAID = ("MIME-Version", "Content-Type", "Content-Transfer-Encoding", "Language:", "Plural-Forms")
_HEADER = "# What Rung's pages say. `make translations` gathers and compiles it; write the msgstr lines."
_NOT_OURS_TO_SAY = ["tests", "bench", "docs", "static", "templates/admin/*", "templates/drf_spectacular/*"]


class Words(Catalog):
    """One language's. When, by whom and with what it was made is left out: the same words are the same bytes."""

    def __iter__(self) -> Iterator[Message]:
        header, *messages = super().__iter__()
        header.string = "".join(f"{line}\n" for line in str(header.string).splitlines() if line.startswith(_SAID))
        yield header
        yield from messages

    @classmethod
    def read(cls, path: Path) -> "Words":
        words = cls(locale=path.parents[1].name)
        with path.open("rb") as file:
            PoFileParser(words, ignore_obsolete=True, abort_invalid=True).parse(file)
        words.locale, words.header_comment, words.fuzzy = path.parents[1].name, _HEADER, False
        return words

    def tidied(self) -> bytes:
        written = BytesIO()
        write_po(written, self, width=120, include_lineno=False)
        return written.getvalue()

    def compiled(self) -> bytes:
        written = BytesIO()
        write_mo(written, self)
        return written.getvalue()


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        languages = [to_locale(code) for code, _name in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
        if shutil.which("xgettext"):
            asked = {"locale": languages, "ignore_patterns": _NOT_OURS_TO_SAY}
            call_command("makemessages", **asked, add_location="file", no_obsolete=True)
        else:
            self.stdout.write("No GNU gettext here: what is written already is compiled, nothing new is gathered.")
        for path in sorted(settings.LOCALE_PATHS[0].glob("*/LC_MESSAGES/django.po")):
            words = Words.read(path)
            path.write_bytes(words.tidied())
            path.with_suffix(".mo").write_bytes(words.compiled())
