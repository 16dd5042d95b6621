"""The reference driver of GPUs with the flags of NVIDIA's: `--feature-gates` are those of the driver."""

from __future__ import annotations

import sys

from dra_conformance.components.reference import own_flags
from reference_impl.runtime import main

if __name__ == "__main__":
    sys.argv[1:] = ["kubelet-plugin", *own_flags(sys.argv[1:])]
    sys.exit(main())
