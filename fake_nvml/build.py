"""`python -m fake_nvml.build`: compile the library in a checkout, in place.

A wheel carries the compiled library; this is for a source tree whose editable install was made before a change to
`src/`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path


def main() -> None:
    """Compile and print what was written."""
    script = Path(__file__).resolve().parent.parent / "hatch_build.py"
    spec = importlib.util.spec_from_file_location("fake_nvml_hatch_build", script)
    if spec is None or spec.loader is None or not script.is_file():
        raise SystemExit(f"{script} is not there: only a source tree can be built this way")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path in module.build_library():
        print(path)


if __name__ == "__main__":
    main()
