"""`python -m deploy.images [components|node|campaigns ...] [--out DIR]`: write image archives and print their names."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from deploy.images import campaigns, components, debian, node

_ROOT = Path(__file__).resolve().parents[2]


def main(argv: Sequence[str] | None = None) -> int:
    """Write the archives; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m deploy.images", description=__doc__)
    parser.add_argument("image", nargs="*", default=["components"], help="components (default), node, campaigns")
    parser.add_argument("--out", type=Path, default=_ROOT / "build/images", metavar="DIR", help="default: build/images")
    parser.add_argument(
        "--bin-dir", type=Path, default=_ROOT / "verification/bin", metavar="DIR", help="built programs"
    )
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.image:
        target = args.out / f"{name}.tar"
        try:
            if name == "node":
                made = node.write(target, bin_dir=args.bin_dir, report=_say)
            elif name == "components":
                made = components.write(target, report=_say)
            elif name == "campaigns":
                made = campaigns.write(target, bin_dir=args.bin_dir, report=_say)
            else:
                parser.error(f"unknown image {name!r} (choose from components, node, campaigns)")
        except (debian.DebianError, components.ComponentImageError, node.NodeImageError) as error:
            print(f"images: {name}: {error}", file=sys.stderr)
            return 1
        print(f"{target}: {made}, {target.stat().st_size >> 20} MiB")
    return 0


def _say(step: str) -> None:
    print(f"images: {step}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
