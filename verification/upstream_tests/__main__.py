"""Write titles.yaml from module folders: `python -m verification.upstream_tests KUBERNETES ALLOCATION NVIDIA`.

The folders are those of k8s.io/kubernetes, k8s.io/dynamic-resource-allocation and sigs.k8s.io/dra-driver-nvidia-gpu in
Go's module cache, as `go mod download -json MODULE@VERSION` prints them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from verification.upstream_tests import collect
from verification.upstream_tests.table import TITLES


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m verification.upstream_tests",
        description="Write the titles of upstream's tests to titles.yaml.",
    )
    parser.add_argument("kubernetes", type=Path, help="Folder of the module k8s.io/kubernetes.")
    parser.add_argument("allocation", type=Path, help="Folder of the module k8s.io/dynamic-resource-allocation.")
    parser.add_argument("nvidia", type=Path, help="Folder of the module sigs.k8s.io/dra-driver-nvidia-gpu.")
    options = parser.parse_args(arguments)
    try:
        folders = {
            collect.KUBERNETES: options.kubernetes,
            collect.ALLOCATION: options.allocation,
            collect.NVIDIA: options.nvidia,
        }
        collect.write(folders, TITLES)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
