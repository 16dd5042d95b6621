"""Tests of the frame: through the front door where that is quick enough, on its pure parts where it is not."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # helper modules of this folder: stories, front_door
