"""`make fuzz`: CASES odd requests from SEED on; ends with 1 where something was found."""

import argparse
import secrets
import signal
import sys

from tests.fuzz.house import product, servers


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that what was started is ended
    numbers = range(options.cases) if options.case is None else range(options.case, options.case + 1)
    print(f"fuzz: seed {options.seed}, {len(numbers):,} cases", flush=True)
    with servers() as folder:
        import django  # noqa: PLC0415 - the servers are known by now

        django.setup()
        from django.core.management import call_command  # noqa: PLC0415 - as above

        call_command("migrate", interactive=False, verbosity=0)
        from tests.fuzz.run import fuzz, prepare  # noqa: PLC0415 - as above

        routes, world = prepare()
        print(f"fuzz: {len(routes.all())} routes", flush=True)
        with product(folder) as running:
            report = fuzz(running, routes, world, seed=options.seed, numbers=numbers, say=_say)
        print(report.summary(), flush=True)
    return 1 if report.findings else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000, metavar="N", help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), metavar="N", help="which (any)")
    parser.add_argument("--case", type=int, metavar="N", help="only this one, alone")
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
