"""Freeze the requirement set of a Kubernetes release: `python -m tools.freeze_requirements 1.37`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from dra_conformance.core import assets, documents
from dra_conformance.core.rules import Catalogue, requirement_sets

_HEAD = """\
# The requirements of Kubernetes {release} on components of DRA, frozen: docs/reference/requirement-sets.md.
# Written by `python -m tools.freeze_requirements {release}`; a test reports each difference from the catalogue.
"""


def main(words: list[str]) -> int:
    """Freeze the sets of some releases, by default those that have one."""
    catalogue = Catalogue.load()
    today = datetime.now(UTC).date().isoformat()
    for release in words or requirement_sets.releases():
        now = requirement_sets.current(catalogue, release, date=today)
        old = requirement_sets.load(release)
        if old is not None and old.rules == now.rules:
            print(f"v{release}: no change since {old.frozen}")
            continue
        for line in requirement_sets.differences(old, now) if old else ():
            print(f"v{release}: {line}")
        if old and (new := requirement_sets.added(old, now)):
            print(f"v{release}: added {', '.join(new)}")
        path = assets.fixtures() / "requirements" / f"v{release}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(_HEAD.format(release=release) + documents.dump(requirement_sets.to_plain(now)))
        print(f"v{release}: {len(now.rules)} rules in {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
