"""The programs that are Rung itself, and what each of them finds in its environment."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping

from config.embedded.home import PROJECT_ROOT, Home
from config.embedded.programs import Program

WORKER = "--quiet -A config worker --loglevel INFO --concurrency 2 -n worker@%h --without-mingle --without-gossip"
BEAT = "--quiet -A config beat --loglevel INFO --scheduler config.beat:Scheduler --pidfile="


class House:
    def __init__(self, home: Home, *, port: int, environ: Mapping[str, str] = os.environ) -> None:
        self._metrics = home.run / "metrics"
        self._env = dict(environ) | {
            "RUNG_HOME": str(home.path),
            "PORT": str(port),
            "PYTHONUNBUFFERED": "1",
            "PROMETHEUS_MULTIPROC_DIR": str(self._metrics),
        }

    def sweep(self) -> None:
        """Numbers of processes that are gone would be counted for ever."""
        shutil.rmtree(self._metrics, ignore_errors=True)
        self._metrics.mkdir(mode=0o700, parents=True)

    def residents(self) -> dict[str, Callable[[], Program]]:
        """Those that run until Rung stops, in the order they are started; they are stopped the other way round."""
        return {
            "worker": lambda: self._python("worker", "-m", "celery", *WORKER.split(), patience=20.0),
            "beat": lambda: self._python("beat", "-m", "celery", *BEAT.split()),
            "web": lambda: self._python("web", "-m", "config.web"),
        }

    def prepare(self) -> Program:
        return self._python("prepare", "manage.py", "prepare")

    def welcome(self) -> Program:
        return self._python("welcome", "manage.py", "welcome")

    def _python(self, name: str, *arguments: str, patience: float = 10.0) -> Program:
        argv = (sys.executable, *arguments)
        return Program(name=name, argv=argv, folder=PROJECT_ROOT, env=self._env, patience=patience)
