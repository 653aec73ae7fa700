"""Devices over the log: an account in two places, in two hands, or in other hands than before."""

from math import exp, log

from anticheat.checks import timing
from anticheat.checks.habits import habit_verdict
from anticheat.checks.pace import network
from anticheat.checks.timing import Timing, TimingTuning
from anticheat.pace import Before
from anticheat.trail import Trail, change
from anticheat.tuning import Times, Tuning, tuned
from leaderboards.models import Mode
from leaderboards.verdicts import Verdict


class Apart:
    """In two places at once, as at the door."""

    name = "places"

    def __init__(self, mode: Mode) -> None:
        self.mode, self.seconds = mode, timing.remembered(mode)

    def look(self, trail: Trail) -> Verdict | None:
        if trail.arrived is None or trail.arrived > self.seconds:
            return None
        before, latest = trail.last[-2], trail.last[-1]
        place = Before(trail.arrived, network(before.address), before.device)
        return timing.apart(self.mode, place, network(latest.address), latest.device)


class DevicesTuning(Tuning, frozen=True, kw_only=True):
    times: Times = 3  # before anything is said: a brother may have taken the tablet once


class Devices:
    """Two devices at a time: from one to another and back sooner than anybody walks, or an attempt on one that takes
    longer, at the most points a second that the mode gives, than it is since the attempt on the other.
    """

    name = "devices"
    tuning = DevicesTuning

    def __init__(self, mode: Mode) -> None:
        self.tuned = tuned(mode, self.name, DevicesTuning)
        self.most = tuned(mode, Timing.name, TimingTuning).per_second or float("inf")

    def look(self, trail: Trail) -> Verdict | None:
        overlaps = trail.elsewhere is not None and trail.elsewhere > self.most
        trail.overlaps += overlaps
        times = trail.swaps + trail.overlaps
        if not (overlaps or trail.is_swap) or not self.tuned.on or times < self.tuned.times:
            return None
        reason = f"On two devices at the same time, {times} times by now."
        return habit_verdict(self, times / self.tuned.times, reason, {"swaps": trail.swaps, "overlaps": trail.overlaps})


class HandoverTuning(Tuning, frozen=True, kw_only=True):
    times: Times = 1.5  # as good as before
    sure: Times = 4.2  # how many times what chance does
    attempts: Times = 5  # on the new device, and before it


class Handover:
    """Since it came with a new device, the player is another one."""

    name = "handover"
    tuning = HandoverTuning

    def __init__(self, mode: Mode) -> None:
        self.tuned = tuned(mode, self.name, HandoverTuning)

    def look(self, trail: Trail) -> Verdict | None:
        device = trail.devices.get(trail.latest.device) if self.tuned.on else None
        if device is None or min(device.before.count, device.here.count) < self.tuned.attempts:
            return None
        found = change(device.before, device.here, floor=0.25)
        if found.by < log(self.tuned.times) or found.sure < self.tuned.sure:
            return None
        times = exp(found.by)
        reason = f"On a device that was new {device.here.count} attempts ago, scores are {times:.1f} times as good."
        return habit_verdict(self, found.sure / self.tuned.sure, reason, {"times": round(times, 2)})
