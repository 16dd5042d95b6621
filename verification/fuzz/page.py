"""Writes `docs/explanation/fuzzing.md`: the last long run of each parser."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
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

{inputs:,} inputs on {date}, commit `{commit}`, seed {seed}: {findings}.

| Parser | Inputs | Seconds | Finding |
|---|---:|---:|---|
"""

_FOOT = """
Findings become tests of their parser; [Hostile and broken targets](hostile-targets.md) lists the tests. The corpora in
`verification/fuzz/corpus` reach all lines that earlier runs reached; `make test` reads them.

The run covers what the harness parses itself. C code (httptools, google-re2, protobuf, orjson, the fake NVML) is not
instrumented: its crashes are found, but nothing leads the search to its lines. The fake NVML has tests with ASan and
UBSan (`make nvml-sanitized`). The proxy for faults, and the state files of the fake NVML, which only the harness
writes, are not fuzzed.

```console
$ make fuzz INPUTS=50000 FUZZ_SEED=2
```
"""


def render(ended: Sequence[Fuzzed], *, seed: int, date: datetime.date, at: str) -> str:
    """Return the page."""
    findings = sum(bool(one.finding) for one in ended)
    head = _HEAD.format(
        seconds=SLOWEST_S,
        memory=LARGEST_MB,
        inputs=sum(one.inputs for one in ended),
        date=date.isoformat(),
        commit=at,
        seed=seed,
        findings=f"{findings} findings" if findings else "no finding",
    )
    rows = [f"| {one.target} | {one.inputs:,} | {one.seconds} | {one.finding or 'none'} |\n" for one in ended]
    return head + "".join(rows) + _FOOT


def write(ended: Sequence[Fuzzed], *, seed: int) -> None:
    """Write the page for a run of all parsers that ends now."""
    PAGE.write_text(render(ended, seed=seed, date=datetime.datetime.now(tz=datetime.UTC).date(), at=commit()))
