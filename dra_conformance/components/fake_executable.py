"""A program of NVIDIA's that a script stands in for, in the driver root of a fake node, with which it goes.

Scripts write what they are told into `$0.log`, and refuse while there is a file `$0.fails`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StandIn:
    """The script at `path`, and the two files beside it."""

    path: Path

    def install(self, script: str) -> None:
        """Put the script there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(script)
        self.path.chmod(0o755)

    @property
    def fails(self) -> bool:
        """Whether it refuses."""
        return self._fails.exists()

    def fail(self) -> None:
        """Refuse from now on."""
        self._fails.touch()

    def work(self) -> None:
        """Refuse no longer. Raises FileNotFoundError where it did not."""
        self._fails.unlink()

    def told(self) -> list[str]:
        """What it was told, oldest first."""
        log = self.path.with_name(f"{self.path.name}.log")
        return log.read_text().splitlines() if log.is_file() else []

    @property
    def _fails(self) -> Path:
        return self.path.with_name(f"{self.path.name}.fails")
