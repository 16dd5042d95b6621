"""`start.py COMPONENT …`: a reference component with the flags of other people's programs.

`{flags}` and `{feature_gates}` are in the spelling of NVIDIA's driver, in which --feature-gates sets the driver's own
gates; the reference's --feature-gates sets those of Kubernetes. The binder gets KAI's flags.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dra_conformance.components.reference import own_flags
from reference_impl.runtime import main

_BINDER = {
    "resource-reservation-namespace": "reservation-namespace",
    "resource-reservation-service-account": "reservation-service-account",
    "resource-reservation-allocation-timeout": "reservation-timeout",
}
_WITHOUT_MEANING = ("scheduler-name",)
"""The reference looks after every reservation of its namespace."""


def binder_flags(words: Sequence[str]) -> list[str]:
    """Convert KAI's flags to those of the reference binder.

    CDI devices are a flag of KAI up to 0.14, and an argument of its only plugin in {flags} since.
    """
    found: list[str] = []
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if not equals or name in _WITHOUT_MEANING:
            found += [] if equals else [word]
        elif name in ("cdi-enabled", "plugins"):
            found += ["--cdi-enabled"] if "true" in value else []
        else:
            found.append(f"--{_BINDER.get(name, name)}={value}")
    return found


def converted(words: Sequence[str]) -> list[str]:
    """Return the arguments of the reference: its component, and the component's flags."""
    component, *flags = words
    return [component, *(binder_flags(flags) if component == "binder" else own_flags(flags))]


if __name__ == "__main__":
    sys.argv[1:] = converted(sys.argv[1:])
    sys.exit(main())
