"""What an act will do, and has done, in sentences: said before the button is pressed."""

from anticheat.models import Ruling
from anticheat.outlooks import Outlook

Kind = Ruling.Kind
_WHAT = {
    Kind.RELEASE: "{n} of {who} that waited or were disqualified will count. The case is closed as cleared.",
    Kind.CLEAR: "The case of {who} is closed as cleared. Nothing changes on the boards.",
    Kind.WATCH: "The case of {who} leaves the queue, and comes back when more is found. Nothing changes on the boards.",
    Kind.CONFIRM: "{n} of {who} that checks spoke of will count nowhere; earlier ones take their place.",
    Kind.REJECT: "This score of {who} will count nowhere; the next best takes its place.",
    Kind.HIDE: "{who} leaves {where} {end}, and may go on sending scores.",
    Kind.SHADOW: "{who} leaves {where} for everybody else {end}, and still sees itself ranked.",
    Kind.SUSPEND: "{who} leaves {where} and may not send scores {end}; then it is back by itself.",
    Kind.BAN: "{who} leaves {where} and may not send scores {end}.",
    Kind.ROLLBACK: "{n} will be taken back and count nowhere, until this is undone.",
}
_DONE = {
    Kind.RELEASE: "Released",
    Kind.CLEAR: "Cleared",
    Kind.WATCH: "Being watched",
    Kind.CONFIRM: "Confirmed",
    Kind.REJECT: "Score disqualified",
    Kind.HIDE: "Hidden",
    Kind.SHADOW: "Shadow-banned",
    Kind.SUSPEND: "Suspended",
    Kind.BAN: "Banned",
    Kind.ROLLBACK: "Rollback begun",
}
BUTTONS = {
    Kind.RELEASE: "Release",
    Kind.CLEAR: "Clear",
    Kind.WATCH: "Watch",
    Kind.CONFIRM: "Confirm",
    Kind.REJECT: "Disqualify this score",
    Kind.HIDE: "Hide",
    Kind.SHADOW: "Shadow-ban",
    Kind.SUSPEND: "Suspend",
    Kind.BAN: "Ban",
    Kind.ROLLBACK: "Roll back",
}


def what_happens(ruling: Ruling, outlook: Outlook) -> str:
    name = ruling.player.display_name if ruling.player else "everybody concerned"
    end = f"until {ruling.ends_at:%Y-%m-%d %H:%M} UTC" if ruling.ends_at else "for ever"
    where = f"the boards of {ruling.mode.title}" if ruling.mode else "every board of the game"
    return _WHAT[Kind(ruling.kind)].format(who=name, end=end, where=where, n=_attempts(outlook.attempts))


def _attempts(many: int | None) -> str:
    if many is None:
        return "More attempts than can be counted beforehand"
    return f"{many:,} attempt{'s' if many > 1 else ''}" if many else "No attempt"


def what_was_done(ruling: Ruling) -> str:
    who = f": {ruling.player.display_name or ruling.player}" if ruling.player else ""
    if ruling.state == Ruling.State.PROPOSED:
        return f"Proposed{who}. A second person has to approve it before anything happens."
    return f"{_DONE[Kind(ruling.kind)]}{who}."
