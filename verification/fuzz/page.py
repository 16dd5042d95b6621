"""Writes `docs/explanation/fuzzing.md`: the newest long run of each parser."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from verification.fuzz.outcome import LARGEST_MB, SLOWEST_S, Fuzzed
from verification.results import commit

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "fuzzing.md"

_HEAD = """# Fuzz tests

<!-- Written by `make fuzz ... WRITE=1`; edit verification/fuzz/page.py. -->

A file or request of a program under test must not end a run, make it hang, or fill the memory. `make fuzz` gives
mutated inputs to every parser of such data. [Atheris](https://github.com/google/atheris), Google's binding of libFuzzer
for Python, prefers inputs that reach new lines; half of the changes of JSON inputs exchange parts of the tree. A
finding is an exception that is not the parser's own, more than {seconds} s for an input, or more than {memory} MiB of
memory.

{inputs:,} inputs in the newest run of each parser: {findings}.

| Parser | Inputs | Seconds | Seed | Date | Commit | Finding |
|---|---:|---:|---:|---|---|---|
"""

_FOOT = """
Findings become tests of their parser; [Hostile and broken targets](hostile-targets.md) lists the tests. The corpora in
`verification/fuzz/corpus` reach all lines that earlier runs reached; `make test` reads them.

The run covers what the harness parses itself. C code (httptools, protobuf, orjson, the fake NVML) is not
instrumented: its crashes are found, but nothing leads the search to its lines. The fake NVML has tests with ASan and
UBSan (`make nvml-sanitized`). The parsers `fault-proxy`, `pod-resources`, `registration` and `watch` read from a
connection in memory; gRPC, TLS and sockets are not part of the run. The state files of the fake NVML, which only the
harness writes, are not fuzzed.

`make fuzz` repeats a run, with a seed and a number of inputs. `make explore` has a new seed in each of its rounds, and
fuzzes all parsers with it if Atheris is installed (`make fuzz` installs it).

```console
$ make fuzz INPUTS=50000 FUZZ_SEED=2
$ make explore MINUTES=30
```
"""


_ROW = re.compile(r"^\| ([\w-]+) \| ([\d,]+) \| (\d+) \| (\d+) \| ([\d-]+) \| `([\w-]+)` \| (.*) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """The newest run of a parser: what became of it, with the seed, the date and the commit."""

    run: Fuzzed
    seed: int
    date: str
    commit: str


def rows(text: str) -> dict[str, Row]:
    """Return the rows of a page, by parser."""
    found = {}
    for name, inputs, seconds, seed, date, at, finding in _ROW.findall(text):
        run = Fuzzed(name, int(inputs.replace(",", "")), int(seconds), "" if finding == "none" else finding)
        found[name] = Row(run, int(seed), date, at)
    return found


def render(newest: Mapping[str, Row]) -> str:
    """Return the page, in the order of the names."""
    findings = sum(bool(row.run.finding) for row in newest.values())
    head = _HEAD.format(
        seconds=SLOWEST_S,
        memory=LARGEST_MB,
        inputs=sum(row.run.inputs for row in newest.values()),
        findings=f"{findings} findings" if findings else "no finding",
    )
    lines = [
        f"| {name} | {row.run.inputs:,} | {row.run.seconds} | {row.seed} | {row.date} | `{row.commit}` | "
        f"{row.run.finding or 'none'} |\n"
        for name, row in sorted(newest.items())
    ]
    return head + "".join(lines) + _FOOT


def write(ended: Sequence[Fuzzed], *, seed: int) -> None:
    """Add runs that end now to the page, each in place of an earlier one of its parser."""
    stored = rows(PAGE.read_text()) if PAGE.exists() else {}
    date, at = datetime.datetime.now(tz=datetime.UTC).date().isoformat(), commit()
    PAGE.write_text(render(stored | {run.target: Row(run, seed, date, at) for run in ended}))
