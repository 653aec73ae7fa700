"""Wire types are read by many threads at once, from the first moment on."""

import subprocess
import sys
from pathlib import Path

import pytest

_PROJECT = Path(__file__).resolve().parents[2]
_AT_ONCE = """
import sys, threading
import msgspec
from config import wire

sys.setswitchinterval(1e-6)
together = threading.Barrier(4)

def act(read):
    together.wait()
    read()

for turn in range(10):
    kind = msgspec.defstruct(f"Kind{turn}", [("items", wire.at_most(2_000))])
    threads = [threading.Thread(target=act, args=(lambda: %s,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("read")
"""


@pytest.mark.parametrize("read", ["wire.decode(b'{\"items\":[1,2]}', kind)", "wire.convert({'items': []}, kind)"])
def test_threads_that_read_a_type_for_the_first_time_together_do_not_crash(read: str) -> None:
    """As web's do when the first large batches come: without a lock, every one of its processes ended there."""
    told = subprocess.run(
        (sys.executable, "-c", _AT_ONCE % read), cwd=_PROJECT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (told.returncode, told.stdout.strip()) == (0, "read"), told.stderr[-2000:]
