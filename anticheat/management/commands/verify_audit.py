"""Checks that no row of the audit was changed, removed or reordered; exit code 1, and which row, where one was.

The end it prints is worth keeping elsewhere: who may write to the whole database could write the whole chain anew, and
only an end that was noted before (--noted SEQ:HASH) tells.
"""

import re
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from anticheat.chain import Broken, Head, verify


def _head(text: str) -> Head:
    shape = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text, re.ASCII)
    if shape is None:
        raise ArgumentTypeError("an end looks like 17:9f86d0…, as this command prints it")
    return Head(int(shape[1]), bytes.fromhex(shape[2]))


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--noted", metavar="SEQ:HASH", type=_head, help="an end that this command printed earlier")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            end = verify(known=options["noted"], progress=self._say)
        except Broken as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{end.seq:,} rows, none changed, removed or reordered.")
        self.stdout.write(f"end {end}")

    def _say(self, rows: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{rows:,} rows so far", ending="")
            self.stderr.flush()
