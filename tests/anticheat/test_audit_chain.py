"""The audit's chain: the database refuses to change it, and whoever gets past the database is found out."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.core.management import CommandError, call_command
from django.db import Error, connection, transaction

from anticheat import audit, chain
from anticheat.chain import Broken
from anticheat.models import AuditEntry, AuditHead
from config.audit import by_command
from tests.at_once import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def _record(verb: str = "mode.change", **said: object) -> None:
    audit.record(verb=verb, who=by_command("test"), after=said)


def _rows(count: int) -> None:
    for number in range(count):
        _record(number=number)


@contextmanager
def _past_the_guard() -> Iterator[None]:
    """As a superuser of the database who means harm."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield


def _sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _seqs() -> list[int | None]:
    return list(AuditEntry.objects.order_by("pk").values_list("seq", flat=True))


def test_rows_are_numbered_without_a_gap_and_fit_together() -> None:
    _rows(3)
    assert _seqs() == [1, 2, 3]
    end = chain.verify()
    assert (end.seq, end.hash) == (3, bytes(AuditEntry.objects.get(seq=3).hash or b""))
    assert str(AuditHead.objects.get()) == str(end)


def test_an_empty_audit_is_in_order() -> None:
    assert chain.verify() == chain.Head(0, chain.START)


def test_an_act_that_is_rolled_back_leaves_nothing_and_no_gap() -> None:
    _record()
    with transaction.atomic():
        _record()
        transaction.set_rollback(True)
    with transaction.atomic():
        _record()
        with transaction.atomic():
            _record(lost=True)
            transaction.set_rollback(True)
    assert AuditEntry.objects.count() == 2
    assert chain.verify().seq == 2


def test_eight_who_record_at_once_make_one_chain() -> None:
    def act(number: int) -> None:
        for turn in range(6):
            with transaction.atomic():
                _record(number=number, turn=turn)
                if turn % 2:
                    _record(number=number, again=turn)
                transaction.set_rollback(turn == 4)

    at_once(act)
    assert sorted(_seqs(), key=int) == list(range(1, 8 * 8 + 1))  # type: ignore[arg-type]
    assert chain.verify().seq == 64


def test_nobody_waits_for_an_act_that_is_not_committed_yet() -> None:
    """The lock on the chain's end is taken at the commit: two long acts do not stand in each other's way."""
    with transaction.atomic():
        _record(first=True)

        def other(_: int) -> None:
            _sql("SET lock_timeout = '5s'")
            _record(second=True)

        at_once(other, threads=1)
    assert [entry.after for entry in AuditEntry.objects.order_by("seq")] == [{"second": True}, {"first": True}]
    assert chain.verify().seq == 2


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE anticheat_auditentry SET why = 'nothing'",
        "UPDATE anticheat_auditentry SET seq = NULL, prev = NULL, hash = NULL",
        "UPDATE anticheat_auditentry SET seq = 9 WHERE seq = 1",
        "DELETE FROM anticheat_auditentry WHERE seq = 2",
        "TRUNCATE anticheat_auditentry",
        (
            'INSERT INTO anticheat_auditentry SELECT 99, 99, at, verb, by, "user", key, command, address, request_id,'
            " game, mode, player, about, before, after, why, digest, prev, hash FROM anticheat_auditentry WHERE seq = 1"
        ),
        "UPDATE anticheat_audithead SET seq = 0",
        "DELETE FROM anticheat_audithead",
        "INSERT INTO anticheat_audithead SELECT 2, 0, hash FROM anticheat_audithead",
        "TRUNCATE anticheat_audithead",
    ],
)
def test_the_database_refuses_to_change_what_was_recorded(statement: str) -> None:
    _rows(2)
    with pytest.raises(Error, match=r"The audit is appended to, never changed"), transaction.atomic():  # noqa: PT012
        # both are off in tests alone, which empty their tables (tests/conftest.py)
        _sql("ALTER TABLE anticheat_auditentry ENABLE TRIGGER audit_no_truncate")
        _sql("ALTER TABLE anticheat_audithead ENABLE TRIGGER audit_head_no_truncate")
        _sql(statement)
        _sql("SET CONSTRAINTS ALL IMMEDIATE")  # as at the commit
        transaction.set_rollback(True)
    assert chain.verify().seq == 2


FIELDS = {
    "at": "at + interval '1 microsecond'",
    "verb": "'mode.other'",
    "by": "'house'",
    "user": "7",
    "key": "7",
    "command": "'other'",
    "address": "'192.0.2.1'",
    "request_id": "'r'",
    "game": "7",
    "mode": "7",
    "player": "7",
    "about": "'players.ban:1'",
    "before": "'{\"a\": 1}'",
    "after": "'{}'",
    "why": "'because'",
}


def test_every_field_of_a_row_is_in_its_digest() -> None:
    chained = {"id", "seq", "digest", "prev", "hash"}
    assert set(FIELDS) == {field.name for field in AuditEntry._meta.concrete_fields} - chained  # noqa: SLF001


@pytest.mark.parametrize("field", FIELDS)
def test_a_changed_row_is_found(field: str) -> None:
    _rows(5)
    with _past_the_guard():
        _sql(f'UPDATE anticheat_auditentry SET "{field}" = {FIELDS[field]} WHERE seq = 3')  # noqa: S608 - a test's own words
    with pytest.raises(Broken, match="Row 3 was changed"):
        chain.verify()


def test_a_changed_row_whose_digest_was_changed_with_it_is_found() -> None:
    _rows(5)
    with _past_the_guard():
        entry = AuditEntry.objects.get(seq=3)
        entry.why = "nothing"
        entry.digest = chain.digest_of(entry)
        entry.save()
    with pytest.raises(Broken, match="Row 3 does not follow row 2"):
        chain.verify()


def test_a_row_written_anew_with_its_hash_is_found_by_the_next() -> None:
    _rows(5)
    with _past_the_guard():
        entry = AuditEntry.objects.get(seq=3)
        entry.why = "nothing"
        entry.digest = chain.digest_of(entry)
        entry.hash = chain.link(seq=3, prev=bytes(entry.prev or b""), digest=entry.digest)
        entry.save()
    with pytest.raises(Broken, match="Row 4 does not follow row 3"):
        chain.verify()


@pytest.mark.parametrize("seq", [1, 3, 5])
def test_a_removed_row_is_found(seq: int) -> None:
    _rows(5)
    with _past_the_guard():
        _sql(f"DELETE FROM anticheat_auditentry WHERE seq = {seq}")  # noqa: S608 - as above
    with pytest.raises(Broken, match=f"Row {seq} is missing"):
        chain.verify()


def test_a_removed_row_is_found_though_the_others_closed_up() -> None:
    _rows(5)
    with _past_the_guard():
        _sql("DELETE FROM anticheat_auditentry WHERE seq = 3")
        _sql("UPDATE anticheat_auditentry SET seq = 3 WHERE seq = 4")
        _sql("UPDATE anticheat_auditentry SET seq = 4 WHERE seq = 5")
    with pytest.raises(Broken, match="Row 3 does not follow row 2"):
        chain.verify()


def test_reordered_rows_are_found() -> None:
    _rows(5)
    with _past_the_guard():
        _sql("UPDATE anticheat_auditentry SET seq = -2 WHERE seq = 2")
        _sql("UPDATE anticheat_auditentry SET seq = 2 WHERE seq = 4")
        _sql("UPDATE anticheat_auditentry SET seq = 4 WHERE seq = -2")
    with pytest.raises(Broken, match="Row 2 does not follow row 1"):
        chain.verify()


def test_a_row_put_in_past_the_guard_is_found() -> None:
    _rows(2)
    with _past_the_guard():
        _record(forged=True)
    with pytest.raises(Broken, match="is in no chain"):
        chain.verify()


@pytest.mark.parametrize("statement", ["DELETE FROM anticheat_audithead", "UPDATE anticheat_audithead SET seq = 3"])
def test_an_end_that_was_set_back_is_found(statement: str) -> None:
    _rows(5)
    with _past_the_guard():
        _sql(statement)
    with pytest.raises(Broken, match="comes after the chain's noted end"):
        chain.verify()


def test_a_cut_tail_is_found_by_an_end_that_was_noted_elsewhere() -> None:
    _rows(5)
    noted = chain.verify()
    with _past_the_guard():
        _sql("DELETE FROM anticheat_auditentry WHERE seq > 3")
        _sql("UPDATE anticheat_audithead SET seq = 3, hash = (SELECT hash FROM anticheat_auditentry WHERE seq = 3)")
    assert chain.verify().seq == 3, "nothing in the database can tell"
    with pytest.raises(Broken, match="Row 4 is missing"):
        chain.verify(known=noted)
    _rows(3)
    with pytest.raises(Broken, match="written anew"):
        chain.verify(known=noted)


# --- commands ------------------------------------------------------------------------------------------------------


def _said(command: str, *arguments: str) -> str:
    out = io.StringIO()
    call_command(command, *arguments, stdout=out)
    return out.getvalue()


def test_verify_audit_says_that_all_is_well_and_where_the_chain_ends() -> None:
    _rows(3)
    told = _said("verify_audit")
    assert told.startswith("3 rows, none changed, removed or reordered.\nend 3:")
    _rows(1)
    assert _said("verify_audit", "--noted", told.split()[-1]).startswith("4 rows")


def test_verify_audit_names_the_first_row_at_fault() -> None:
    _rows(4)
    with _past_the_guard():
        _sql("UPDATE anticheat_auditentry SET why = 'nothing' WHERE seq IN (2, 4)")
    with pytest.raises(CommandError, match=r"^Row 2 was changed") as raised:
        _said("verify_audit")
    assert raised.value.returncode == 1


@pytest.mark.parametrize("noted", ["17", "x:00", "1:zz"])
def test_verify_audit_refuses_an_end_that_it_never_printed(noted: str) -> None:
    with pytest.raises(CommandError, match="an end looks like"):
        _said("verify_audit", "--noted", noted)


def test_export_audit_writes_each_row_as_a_line() -> None:
    _record(title="Größe")
    _record("key.revoke")
    rows = [json.loads(line) for line in _said("export_audit").splitlines()]
    assert [(row["seq"], row["verb"], row["by"], row["command"]) for row in rows] == [
        (1, "mode.change", "command", "test"),
        (2, "key.revoke", "command", "test"),
    ]
    assert rows[0]["after"] == {"title": "Größe"}
    assert rows[1]["prev"] == rows[0]["hash"]


def test_export_audit_as_csv_is_no_formula() -> None:
    audit.record(verb="mode.change", who=by_command("test"), why="=cmd|' /C calc'!A0")
    head, row = _said("export_audit", "--format", "csv").splitlines()
    assert head.startswith("seq,at,verb,by,user,key,command")
    assert ",'=cmd|" in row


def test_export_audit_keeps_to_a_time() -> None:
    _rows(1)
    assert _said("export_audit", "--until", "2001-01-01") == ""
    assert _said("export_audit", "--since", "2001-01-01T00:00:00+02:00") != ""
    with pytest.raises(CommandError, match="a time looks like"):
        _said("export_audit", "--since", "yesterday")
