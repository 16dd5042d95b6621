"""docs/reference/partial-writes.md: every write of every component and what makes it fail, from the table alone; no dates in it."""

from __future__ import annotations

from dra_conformance.faults.half_written import COMPONENTS, Kept, Row

_SWEPT = "faults/sweep"
_SWEEP = "tests/reference_impl/test_kubelet_plugin_sweep.py"


_HEAD = """\
# Every half-written step

Made by `python -m dra_conformance.faults LOG… --write` from the event logs of `make suite`; do not edit. `make suite`
runs the same command without `--write`: it fails where a reference part makes a write that no scenario makes fail. What
the scenarios' sentences do is told in [faults.md](../how-to/faults.md).

The order is that in which a part makes its writes, as far as one follows another; events are told beside them. A
scenario that makes a write fail is named with the ways in which it fails. Where the answer is lost, API server and part
may be of different minds. *Swept* are the rounds of `faults/sweep`, which fail each write in seven ways.
"""
_DISK = f"""\
## What is written to disk

Of these parts only the driver writes files; the others keep nothing that the API server does not have. Prepare and
Unprepare of one claim are these effects, one after the other. The driver is killed after each of them, in each story,
and its successor must come to the end that an undisturbed one comes to (`{_SWEEP}`,
which also holds this list true). As a process it is killed in `driver/restarts`, and in `mig/dynamic` while it waits
for NVML.

| story | effects |
|---|---|
"""


def page(table: Kept) -> str:
    """The page."""
    lines = [_HEAD]
    for component in COMPONENTS:
        lines += [
            f"## {component}",
            "",
            "| | write | when it goes no further | made to fail in |",
            "|---:|---|---|---|",
        ]
        mine = [row for row in table.writes if row.component == component]
        lines += [_line(number, row) for number, row in enumerate(mine, start=1)]
        lines.append("")
    lines.append(_DISK.rstrip("\n"))
    lines += [f"| {story} | {' → '.join(effects)} |" for story, effects in table.disk.items()]
    return "\n".join(lines) + "\n"


def _line(number: int, row: Row) -> str:
    swept = any(scenario.startswith(_SWEPT) for scenario in row.fails_in)
    named = {name: ways for name, ways in row.fails_in.items() if not name.startswith(_SWEPT)}
    ours = {name: ways for name, ways in named.items() if name.startswith("faults/")} or named
    told = [f"`{scenario}`: {', '.join(ways)}" for scenario, ways in ours.items()] + ["*swept*"] * swept
    return f"| {number} | {row.verb} {row.resource} | {row.leaves} | {'<br>'.join(told)} |"
