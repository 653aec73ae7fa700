"""Reads of cases and rulings, as game servers see them."""

from typing import Annotated

import msgspec
from django.db.models import Q
from msgspec import Meta

from anticheat.errors import CaseNotFound, RulingNotFound
from anticheat.models import Case, Finding, Rollback, Ruling
from anticheat.previews import Preview
from anticheat.whatif import Compared
from anticheat.wire import (
    CaseDetail,
    CaseList,
    CasesQuery,
    CaseState,
    FindingState,
    RollbackPreviewState,
    RollbackState,
    RulingList,
    RulingsQuery,
    RulingState,
    TopEntry,
    TopState,
)
from leaderboards import cursors
from leaderboards.boards.board import Entry
from leaderboards.rules import encoding
from players.lookups import GameRecord
from players.profiles import profiles
from players.selectors import player_get

_FINDINGS = 200


class _Cursor(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag="c"):
    """Cases after this one, in the order of the queue."""

    priority: Annotated[float, Meta(ge=0)]
    case: cursors.Number


def case_get(*, game: GameRecord, case: int) -> Case:
    found = Case.objects.filter(game_id=game.pk, pk=case).select_related("mode", "player").first()
    if found is None:
        raise CaseNotFound(f"There is no case {case} in {game.slug}.")
    return found


def case_list(*, game: GameRecord, asked: CasesQuery) -> CaseList:
    found = Case.objects.filter(game_id=game.pk, state=asked.state).select_related("mode", "player")
    if asked.cursor is not None:
        last = cursors.read(asked.cursor, _Cursor)
        found = found.filter(Q(priority__lt=last.priority) | Q(priority=last.priority, pk__gt=last.case))
    rows = list(found.order_by("-priority", "pk")[: asked.limit + 1])
    more = rows[asked.limit - 1] if len(rows) > asked.limit else None
    return CaseList(
        cases=[_case(one) for one in rows[: asked.limit]],
        next_cursor=cursors.write(_Cursor(more.priority, more.pk)) if more else None,
    )


def case_detail(case: Case) -> CaseDetail:
    rulings = case.rulings.select_related("mode", "player", "rollback").order_by("-pk")
    return CaseDetail(
        case=_case(case),
        findings=[_finding(one, case.mode.decimals) for one in case.findings.all()[:_FINDINGS]],
        rulings=[ruling_state(one) for one in rulings[:_FINDINGS]],
    )


def ruling_get(*, game: GameRecord, ruling: int) -> Ruling:
    rulings = Ruling.objects.filter(game_id=game.pk, pk=ruling).select_related("mode", "player", "rollback")
    found = rulings.first()
    if found is None:
        raise RulingNotFound(f"There is no ruling {ruling} in {game.slug}.")
    return found


def ruling_list(*, game: GameRecord, asked: RulingsQuery) -> RulingList:
    found = Ruling.objects.filter(game_id=game.pk).select_related("mode", "player", "rollback").order_by("-pk")
    if asked.player_id is not None:
        found = found.filter(player=player_get(game=game, player_id=asked.player_id))
    if asked.before is not None:
        found = found.filter(pk__lt=asked.before)
    rows = list(found[: asked.limit + 1])
    shown = rows[: asked.limit]
    return RulingList(
        rulings=[ruling_state(one) for one in shown], next_before=shown[-1].pk if len(rows) > asked.limit else None
    )


def ruling_state(ruling: Ruling) -> RulingState:
    return RulingState(
        ruling=ruling.pk,
        kind=ruling.kind,  # type: ignore[arg-type]
        state=ruling.state,
        player_id=ruling.player.player_id if ruling.player else None,
        mode=ruling.mode.slug if ruling.mode else None,
        case=ruling.case_id,
        reason=ruling.reason,
        at=ruling.at,
        ends_at=ruling.ends_at,
        attempts=len(ruling.before.get("attempts", ())),
        rollback=_rollback(ruling.rollback) if ruling.rollback else None,
        undone_at=ruling.undone_at,
        undone_why=ruling.undone_why,
    )


def preview_state(preview: Preview) -> RollbackPreviewState:
    extent = preview.extent
    return RollbackPreviewState(
        attempts=extent.attempts,
        counting=extent.counting,
        players=extent.players,
        log_since=extent.log_since.isoformat() if extent.log_since else None,
        whole=preview.whole,
        tops=[_top(one) for one in preview.tops],
    )


def _case(case: Case) -> CaseState:
    return CaseState(
        case=case.pk,
        mode=case.mode.slug,
        player_id=case.player.player_id,
        state=case.state,  # type: ignore[arg-type]
        risk=round(case.risk, 4),
        rank=case.rank,
        opened_at=case.opened_at,
        updated_at=case.updated_at,
    )


def _finding(finding: Finding, decimals: int) -> FindingState:
    return FindingState(
        attempt_id=finding.attempt_id,
        score=encoding.unscale(finding.score, decimals),
        check=finding.check_name,
        verdict=finding.verdict,
        risk=round(finding.risk, 4),
        reason=finding.reason,
        details=finding.details,
        found_at=finding.found_at,
    )


def _rollback(rollback: Rollback) -> RollbackState:
    return RollbackState(
        state=rollback.state,
        since=rollback.since,
        until=rollback.until,
        total=rollback.total,
        done=rollback.done,
        ended_at=rollback.ended_at,
    )


def _top(compared: Compared) -> TopState:
    mode = compared.board.mode
    shown = profiles({entry.player for entry in (*compared.before, *compared.after)})

    def entries(some: list[Entry]) -> list[TopEntry]:
        return [
            TopEntry(
                rank=one.rank,
                player_id=shown[one.player].player_id,
                score=encoding.unscale(one.score, mode.decimals),
            )
            for one in some
            if one.player in shown
        ]

    return TopState(
        mode=mode.slug,
        window_id=compared.board.window.id,
        before=entries(compared.before),
        after=entries(compared.after),
    )
