"""Trained models in Django's storage: a file for each version of each mode's, and the last one is what is used."""

from contextlib import suppress

import msgspec
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages

from anticheat.features import FEATURES
from anticheat.forest import Forest
from config import wire


def storage() -> Storage:
    return storages["models"]


def save(forest: Forest) -> str:
    """The file's name."""
    return storage().save(_name(forest.mode, forest.version), ContentFile(msgspec.json.encode(forest)))


def versions(mode: int) -> list[int]:
    """In order."""
    names: list[str] = []
    with suppress(FileNotFoundError):
        names = storage().listdir(str(mode))[1]
    return sorted(int(stem) for name in names if (stem := name.removesuffix(".json")).isdecimal())


def latest(mode: int) -> Forest | None:
    """None where there is none, or none of the features that are told today."""
    found = versions(mode)
    if not found:
        return None
    with storage().open(_name(mode, found[-1])) as file:
        wire.ready(Forest)
        forest = msgspec.json.decode(file.read(), type=Forest)
    return forest if tuple(forest.features) == FEATURES else None


def _name(mode: int, version: int) -> str:
    return f"{mode}/{version:04d}.json"
