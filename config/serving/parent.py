"""A web process and the process that watches it."""

import multiprocessing
import os
import signal
import threading


def end_with_parent() -> None:
    """A web process whose watcher was killed would hold the port for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="parent", daemon=True).start()
