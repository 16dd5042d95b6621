"""`start.py COMPONENT …`: a reference component with the flags of NVIDIA's driver.

`{flags}` and `{feature_gates}` are in that driver's spelling, in which --feature-gates sets the driver's own gates; the
reference's --feature-gates sets those of Kubernetes.
"""

from __future__ import annotations

import sys

from dra_conformance.components.reference import own_flags
from reference_impl.runtime import main

if __name__ == "__main__":
    sys.argv[1:] = own_flags(sys.argv[1:])
    sys.exit(main())
