"""Print the counts of the table of known bugs, or write docs/explanation/known-bugs.md with --write.

Exit codes: 0 the table is consistent, 1 a row contradicts itself.
"""

from __future__ import annotations

import argparse
import sys

from verification.known_bugs.page import PAGE, render
from verification.known_bugs.table import load


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m verification.known_bugs", description=(__doc__ or ""))
    parser.add_argument("--write", action="store_true", help="Write the page.")
    options = parser.parse_args(arguments)
    sections = load()
    for one in sections:
        observable = one.count("detected", "not yet")
        print(f"{one.title}: {one.count('detected')} detected, {observable} observable, {len(one.fixes)} in all")
    problems = [line for one in sections for fix in one.fixes for line in fix.problems()]
    for line in problems:
        print(line)
    if options.write:
        PAGE.write_text(render(sections))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
