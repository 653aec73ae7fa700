"""What the forms of trust have in common: moments, and the reasons that players are told."""

from django import forms
from django.conf import settings


def moment_input() -> forms.DateTimeInput:
    return forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


def reason_choices() -> list[tuple[str, str]]:
    return [("", "– choose –"), *((reason, reason) for reason in settings.RULING_REASONS)]
