"""`python -m dra_conformance` is the command `dra-conformance`."""

from dra_conformance.cli import main

if __name__ == "__main__":
    main()
