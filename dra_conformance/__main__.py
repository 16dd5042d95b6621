"""The command `dra-conformance`, and `python -m dra_conformance`."""

import sys

from dra_conformance.core.interrupts import Interrupts


def main() -> None:
    """Entry point: handles Ctrl-C before anything else is imported, because imports may lose the exception."""
    interrupts = Interrupts()
    interrupts.install()
    try:
        from dra_conformance import cli

        cli.main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(2)  # ExitCode.INTERRUPTED, whose module may not be imported yet
    finally:
        interrupts.restore()


if __name__ == "__main__":
    main()
