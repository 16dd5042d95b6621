"""A timeline: changes of a node and their times in YAML, played against the real clock (or another).

The file is checked completely before the first step runs. The arguments of a step are those of the method of `Node`
that it calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dra_api.clock import Clock, RealClock
from fake_nvml import documents
from fake_nvml.documents import Document, Path_
from fake_nvml.errors import FakeNvmlError
from fake_nvml.faults import FaultRule, error_code
from fake_nvml.faults import check as check_fault
from fake_nvml.fields import SCALARS, STRINGS
from fake_nvml.inventory import field_value
from fake_nvml.node import Node

Arguments = Mapping[str, Any]


def _set(node: Node, arguments: Arguments) -> None:
    for field, value in arguments.items():
        if field != "gpu":
            node.set(arguments["gpu"], field, value)


def _reset(node: Node, arguments: Arguments) -> None:
    if "gpu" in arguments:
        node.reset(arguments["gpu"])
    else:
        node.restore()


@dataclass(frozen=True, slots=True)
class _Action:
    """One verb: its arguments by name with the types that they may have, and what it does."""

    needs: Mapping[str, tuple[type, ...]]
    may: Mapping[str, tuple[type, ...]]
    run: Callable[[Node, Arguments], object]


_GPU: Final = {"gpu": (int, str)}
_NUMBER: Final = (int, float)
_FAULT: Final = {
    "error": (str, int),
    "times": (int,),
    "after": (int,),
    "every": (int,),
    "probability": _NUMBER,
    "seed": (int,),
    "delay": _NUMBER,
    "hang": (bool,),
    "gpu": (int, str),
    "program": (str,),
}
_ACTIONS: Final[Mapping[str, _Action]] = {
    "set": _Action(_GPU, dict.fromkeys((*SCALARS, *STRINGS), (int, str)), _set),
    "xid": _Action(
        {**_GPU, "number": (int,)},
        {"gi": (int,), "ci": (int,)},
        lambda node, a: node.inject_xid(a["gpu"], a["number"], **{k: a[k] for k in ("gi", "ci") if k in a}),
    ),
    "event": _Action(
        {**_GPU, "type": (int,)},
        {"data": (int,)},
        lambda node, a: node.inject_event(a["gpu"], a["type"], a.get("data", 0)),
    ),
    "fault": _Action(
        {"function": (str,)},
        _FAULT,
        lambda node, a: node.inject_fault(a["function"], **{k: v for k, v in a.items() if k != "function"}),
    ),
    "clear_faults": _Action({}, {}, lambda node, a: node.clear_faults()),
    "process": _Action(
        {**_GPU, "pid": (int,), "memory": (int,)},
        {"utilization": (int,), "graphics": (bool,), "gi": (int,), "ci": (int,)},
        lambda node, a: node.set_process(a["gpu"], **{name: value for name, value in a.items() if name != "gpu"}),
    ),
    "link": _Action(
        {**_GPU, "link": (int,), "active": (bool,)},
        {},
        lambda node, a: node.set_link(a["gpu"], a["link"], active=a["active"]),
    ),
    "lose": _Action(_GPU, {}, lambda node, a: node.lose_gpu(a["gpu"])),
    "recover": _Action(_GPU, {}, lambda node, a: node.recover_gpu(a["gpu"])),
    "remove": _Action(_GPU, {}, lambda node, a: node.remove_gpu(a["gpu"])),
    "restore": _Action(_GPU, {}, lambda node, a: node.restore_gpu(a["gpu"])),
    "reset": _Action({}, _GPU, _reset),
    "reload_driver": _Action({}, {}, lambda node, a: node.reload_driver()),
    "fail_init": _Action({"error": (str, int)}, {}, lambda node, a: node.fail_init(a["error"])),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step: seconds after the start, the verb with its arguments, and both as a person reads them."""

    at: float
    verb: str
    arguments: Arguments
    text: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """Checked steps in the order of their times."""

    steps: tuple[Step, ...]

    @classmethod
    def load(cls, path: Path) -> Timeline:
        """Read a script.

        Raises: InventoryError with file, line and reason, before anything has happened.
        """
        document = documents.read(path)
        top = document.mapping((), document.data)
        document.known((), top, ["steps", "about"])
        raw = document.sequence(("steps",), top.get("steps"))
        steps = [_step(document, ("steps", index), item) for index, item in enumerate(raw)]
        # The sort is stable: steps of one time keep the order of the file.
        return cls(tuple(sorted(steps, key=lambda step: step.at)))

    def play(
        self, node: Node, *, clock: Clock | None = None, speed: float = 1.0, stop: threading.Event | None = None
    ) -> Iterator[Step]:
        """Run each step at its time, and yield it when it is done.

        Args:
            node: what the steps change.
            clock: the clock of the seconds; by default that of the machine.
            speed: 2 plays twice as fast.
            stop: ends the play when set.

        Raises: FakeNvmlError if the node has no such GPU or link.
        """
        clock, stop = clock or RealClock(), stop or threading.Event()
        begun = clock.monotonic()
        for step in self.steps:
            # Relative to the start, so that the time of the steps does not add up.
            due = begun + step.at / speed
            if clock.monotonic() < due and clock.wait_until(stop, due):
                return
            _ACTIONS[step.verb].run(node, step.arguments)
            yield step


def _step(document: Document, where: Path_, raw: Any) -> Step:
    item = document.mapping(where, raw)
    document.known(where, item, ["at", *_ACTIONS])
    at = item.get("at")
    if isinstance(at, bool) or not isinstance(at, _NUMBER) or at < 0:
        raise document.error((*where, "at"), f"must be seconds after the start, not negative; it is {at!r}")
    verbs = [key for key in item if key != "at"]
    if len(verbs) != 1:
        raise document.error(where, f"a step does one thing; this has {len(verbs)}. Known: {', '.join(_ACTIONS)}")
    verb = verbs[0]
    action, spot = _ACTIONS[verb], (*where, verb)
    arguments = document.mapping(spot, item[verb] if item[verb] is not None else {})
    allowed = {**action.needs, **action.may}
    document.known(spot, arguments, allowed)
    for name in action.needs:
        if name not in arguments:
            raise document.error(spot, f"{verb} needs `{name}`")
    for name, value in arguments.items():
        kinds = allowed[name]
        # bool is a subclass of int, but no number here.
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            words = " or ".join(sorted({kind.__name__ for kind in kinds}))
            raise document.error((*spot, name), f"must be {words}; it is {value!r}")
        if verb == "set" and name != "gpu":
            field_value(name, value, error=lambda text, at=(*spot, name): document.error(at, text))
    if "error" in arguments or verb == "fault":
        _checked_fault(document, spot, verb, arguments)
    text = " ".join([verb, *(f"{name}={value}" for name, value in arguments.items())])
    return Step(at=float(at), verb=verb, arguments=arguments, text=text)


def _checked_fault(document: Document, spot: Path_, verb: str, arguments: Arguments) -> None:
    try:
        code = error_code(arguments.get("error", "SUCCESS"))
        if verb == "fault":
            options = {name: value for name, value in arguments.items() if name not in ("error", "gpu")}
            check_fault(FaultRule(code=code, **options))
    except FakeNvmlError as error:
        raise document.error(spot, str(error)) from error
