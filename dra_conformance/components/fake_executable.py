"""Fake NVIDIA executable (a shell script) in a fake node's driver root; removed with the node.

A script appends its arguments to `$0.log`, and fails while the file `$0.fails` exists. One that honours `$0.instead`
runs the commands of this file instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FakeExecutable:
    """The script at `path`, with its two files."""

    path: Path

    def install(self, script: str) -> None:
        """Write the script."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(script)
        self.path.chmod(0o755)

    @property
    def fails(self) -> bool:
        """Whether the script fails."""
        return self._fails.exists()

    def fail(self) -> None:
        """Make the script fail from now on."""
        self._fails.touch()

    def work(self) -> None:
        """Make the script succeed again. Raises FileNotFoundError if it did not fail."""
        self._fails.unlink()

    def replace(self, script: str) -> None:
        """Make a script that honours `$0.instead` run these commands from now on."""
        self._instead.write_text(script)

    def restore(self) -> None:
        """Make the script do its own work again."""
        self._instead.unlink(missing_ok=True)

    def recorded(self) -> list[str]:
        """Return the arguments of all calls, oldest first."""
        return self._log.read_text(encoding="utf-8").splitlines() if self._log.is_file() else []

    def record(self, line: str) -> None:
        """Append a line to the log, as the script does."""
        with self._log.open("a") as file:
            file.write(f"{line}\n")

    @property
    def _log(self) -> Path:
        return self.path.with_name(f"{self.path.name}.log")

    @property
    def _instead(self) -> Path:
        return self.path.with_name(f"{self.path.name}.instead")

    @property
    def _fails(self) -> Path:
        return self.path.with_name(f"{self.path.name}.fails")
