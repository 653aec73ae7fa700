"""The cell on a processor whose system calls nobody has listed."""

import platform

from anticheat import cell

platform.machine = lambda: "abacus"

if __name__ == "__main__":
    cell.main()
