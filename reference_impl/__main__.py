"""`python -m reference_impl COMPONENT …`: run one reference component against any API server."""

from __future__ import annotations

import sys

from reference_impl.runtime import main

if __name__ == "__main__":
    sys.exit(main())
