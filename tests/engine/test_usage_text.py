"""The cause of an end is found in an output with the usage of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from dra_conformance.core import usage_text
from dra_conformance.core.process import ManagedProcess

FLAGS = [f"  -option{number} string" for number in range(20)]


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        pytest.param(["flag provided but not defined: -x", "Usage of driver:", *FLAGS], 0, id="go-flag"),
        pytest.param(["--node is empty", "", "Usage of ./driver:", *FLAGS], 0, id="go-flag-other-words"),
        pytest.param(
            ["Error: unknown flag: --x", "Usage:", "  driver [flags]", "", "Flags:", *FLAGS, ""], 0, id="cobra"
        ),
        pytest.param(
            ["Usage:", "  driver [flags]", "", "Flags:", *FLAGS, "", "unknown flag: --x"], -1, id="cobra-after"
        ),
        pytest.param(["usage: driver [-h]", "driver: error: the arguments are required: node"], -1, id="argparse"),
        pytest.param(["starting", "Usage: see the manual", "cannot open /dev/x"], None, id="another-end"),
        pytest.param(["Error: no devices", "memory usage is 5 %"], None, id="no-usage"),
        pytest.param([], None, id="no-output"),
    ],
)
def test_the_cause_of_an_output_with_a_usage(lines: list[str], cause: int | None) -> None:
    assert usage_text.cause(lines) == ("" if cause is None else lines[cause])


def test_a_message_about_a_program_leads_with_the_cause(tmp_path: Path) -> None:
    text = "\n".join(["flag provided but not defined: -x", "Usage of driver:", *FLAGS])
    process = ManagedProcess("driver", ["sh", "-c", f"echo '{text}'; exit 2"], log_path=tmp_path / "driver.log")
    process.start()
    process.wait(30)
    assert process.last_output(3) == process.last_words() == "flag provided but not defined: -x"
    assert process.why_it_ended(3) == ["flag provided but not defined: -x", *FLAGS[-2:]]
    process.kill()
