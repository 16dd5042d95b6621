"""Changes of the fake node behind NVML, fault rules, and mistakes in its files that it must refuse."""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

import fake_nvml
from dra_conformance.components import nvml_calls
from dra_conformance.components.nvml import OK
from dra_conformance.core import assets
from dra_conformance.core.errors import SpecificationError
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import World, in_words
from fake_nvml.errors import FakeNvmlError
from fake_nvml.timeline import Timeline

_COMMENT: Final = "  # "
_HEAD: Final = re.compile(r"# (\d+): (?:([^\s:]+): )?(.*)")


@when("the fake node changes")
def _(world: World, docstring: str) -> None:
    """Play the steps of a timeline on the fake node, as `fake-nvml play` does; a driver reload ends the session."""
    _change(world, docstring.strip("\n").splitlines())


@when('the fake node changes as in "{name}"')
def _(world: World, name: str) -> None:
    """Play the timeline in `fixtures/nvml`, as the step with the lines does."""
    _change(world, _steps_of(name))


def _change(world: World, lines: Sequence[str]) -> None:
    library = world.nvml()
    if "reload_driver" in _play(world, lines):
        library.shut_down()
        library.init()


def _steps_of(name: str) -> list[str]:
    """Return the lines of a timeline's steps in `fixtures/nvml`, one step a line."""
    lines = (assets.fixtures() / "nvml" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def _play(world: World, lines: Sequence[str]) -> list[str]:
    """Play the steps of a timeline on the fake node and return their verbs."""
    path = _timeline(world)
    path.write_text("\n".join(["steps:", *(f"  {line}" for line in lines)]), encoding="utf-8")
    try:
        return [step.verb for step in Timeline.load(path).play(world.nvml().node)]
    finally:
        path.unlink()


def _timeline(world: World) -> Path:
    return world.run.components.work / f"timeline-{world.suffix}.yaml"


# -- fault rules ---------------------------------------------------------------------------------------------------


@when("fault rule {number:d} is cleared")
def _(world: World, number: int) -> None:
    """Remove one fault rule of the fake node; the rules are counted from 0, in the order of their places."""
    world.nvml().node.clear_faults(number)


@then("the fault rules have acted {times} times")
def _(world: World, times: str) -> None:
    """Compare how often each fault rule has acted, in the order of the rules: `2, 0, 1`."""
    node = world.nvml().node
    hits = [node.fault_hits(number) for number in range(len(times.split(",")))]
    wanted = [int(one) for one in times.split(",")]
    world.check(hits == wanted, "fault rules", expected=wanted, observed=hits)


@then("the fault rules have acted in {ranges} of the calls")
def _(world: World, ranges: str) -> None:
    """Compare how often each fault rule has acted with limits, in the order of the rules: `10 to 30, 0 to 2`."""
    node = world.nvml().node
    for number, text in enumerate(ranges.split(",")):
        least, _, most = text.strip().partition(" to ")
        hits = node.fault_hits(number)
        ok = int(least) <= hits <= int(most)
        world.check(ok, f"calls with fault rule {number}", expected=text.strip(), observed=str(hits))


@then("{count:d} calls of {function:word} on each GPU fail as the table shows")
def _(world: World, count: int, function: str, datatable: list[list[str]]) -> None:
    """Call a getter of a number on all GPUs; columns: GPU, and whether the same calls as on GPU 0 fail (yes or no)."""
    library = world.nvml()
    failed: list[list[int]] = []
    for handle in library.handles:
        codes = [library.call(function, handle, ctypes.byref(ctypes.c_uint(0))) for _ in range(count)]
        failed.append([number for number, code in enumerate(codes) if code != OK])
    for gpu, alike in datatable[1:]:
        calls = failed[int(gpu)]
        expected = f"{'' if alike == 'yes' else 'others than '}{in_words(failed[0])}"
        world.check(
            (calls == failed[0]) == (alike == "yes"),
            f"failed calls on GPU {gpu}",
            expected=expected,
            observed=in_words(calls),
        )


@then("{call} takes at least {milliseconds:d} ms")
def _(world: World, call: str, milliseconds: int) -> None:
    """Measure a successful call, written as in `nvml_calls`."""
    library, names = world.nvml(), world.state(nvml_calls.CallNames)
    began = time.monotonic()
    code = nvml_calls.call(library, names, call)
    took = time.monotonic() - began
    expected = f"SUCCESS after {milliseconds} ms"
    good = code == "SUCCESS" and took * 1000 >= milliseconds
    world.check(good, call, expected=expected, observed=f"{code} after {took * 1000:.1f} ms")


# -- refusals ------------------------------------------------------------------------------------------------------


@then("the fake node refuses these changes")
def _(world: World, docstring: str) -> None:
    """Play each line as a timeline of its own, which must be refused.

    The error of a mistake in the file names file, line and key; that of a change that the node cannot have names the
    field. By default that is the last key of the line, and the error contains its value. A comment at the end of the
    line has another key and text: `# steps[0].at: -1`. The steps that follow show that nothing was changed.
    """
    _refuse(world, docstring.strip().splitlines())


@then('the fake node refuses the changes in "{name}"')
def _(world: World, name: str) -> None:
    """Play each line of a file in `fixtures/nvml` as a timeline of its own, as the step with the lines does."""
    _refuse(world, _steps_of(name))


def _refuse(world: World, lines: Sequence[str]) -> None:
    for line in lines:
        step, _, comment = line.partition(_COMMENT)
        key, word = _mistake(step, comment)
        observed = "accepted"
        try:
            _play(world, [step])
        except fake_nvml.InventoryError as error:
            observed = str(error)
            good = observed.startswith(f"{_timeline(world)}:2: {key}: ") and _has_reason(observed, key, word)
        except FakeNvmlError as error:
            observed = str(error)
            good = key.rpartition(".")[2] in observed and _has_reason(observed, "", word)
        else:
            good = False
        world.check(good, f"refusal of {step}", expected=f"an error that names {key} and {word}", observed=observed)


def _mistake(step: str, comment: str) -> tuple[str, str]:
    """Return the key that the error of a step must name, and a text that it must contain."""
    if comment:
        key, _, word = comment.partition(": ")
        return key, word
    (arguments,) = yaml.safe_load(step)
    verb = next(name for name in arguments if name != "at")
    field, wrong = list(arguments[verb].items())[-1]
    return f"steps[0].{verb}.{field}", str(wrong)


def _has_reason(message: str, key: str, word: str) -> bool:
    """Return whether an error has a text after the key that contains the word."""
    reason = message.partition(f"{key}: ")[2] if key else message
    return word in reason and reason != "None" and " " in reason


@then("no fake node has these GPUs")
def _(world: World, docstring: str) -> None:
    """Try each line, in YAML, as the GPUs of an inventory, which must be refused."""
    for line in docstring.strip().splitlines():
        seen = _refusal(world, f"{{driver_version: '580.1.2', cuda_version: '13.0', gpus: {line}}}")
        observed = "accepted" if seen == "accepted" else "refused"
        world.check(
            seen != "accepted", f"GPUs that cannot exist together: {line}", expected="refused", observed=observed
        )


@then('each inventory in "{name}" is refused with an error that names line and key')
def _(world: World, name: str) -> None:
    """Try the inventories of a file in `fixtures/nvml`.

    The first line of each has the line and the key that the error must name, and a text that it must contain:
    `# 4: gpus[0].bus: 00:20.0`.
    """
    inventories = (assets.fixtures() / "nvml" / f"{name}.yaml").read_text(encoding="utf-8").split("\n---\n")
    for text in inventories:
        head = _HEAD.fullmatch(text.partition("\n")[0])
        if head is None:
            raise SpecificationError(f"the first line names no line and key: {text}")
        line, key, word = head.groups()
        observed = _refusal(world, text)
        begin = f":{line}: {key}: " if key else f":{line}: "
        good = observed.startswith(begin) and _has_reason(observed, begin.removesuffix(": "), word)
        world.check(
            good, f"error of the inventory {text!r}", expected=f"FILE{begin}... {word}", observed=f"FILE{observed}"
        )


@then("inventories that cannot be found or read are refused with an error that names them")
def _(world: World) -> None:
    """Try a wrong name, for which the error has the right one, a file that is missing, and one that is not UTF-8."""
    path = world.run.components.work / f"unreadable-{world.suffix}.yaml"
    for name, content, word in (("dgx-h10", None, "'dgx-h100'"), (path, None, str(path)), (path, b"\xff", str(path))):
        if content is not None:
            path.write_bytes(content)
        observed = "accepted"
        try:
            fake_nvml.Inventory.load(name)
        except fake_nvml.InventoryError as error:
            observed = str(error)
        finally:
            path.unlink(missing_ok=True)
        world.check(word in observed, f"inventory {name}", expected=f"an error that names {word}", observed=observed)


def _refusal(world: World, text: str) -> str:
    """Return the error of an inventory from its line on, or that it is accepted."""
    # Both endings of YAML files are taken for paths; the inventories of this suite have the other one.
    path = world.run.components.work / f"inventory-{world.suffix}.yml"
    path.write_text(text, encoding="utf-8")
    try:
        fake_nvml.Inventory.load(path)
    except fake_nvml.InventoryError as error:
        return str(error).removeprefix(str(path))
    finally:
        path.unlink()
    return "accepted"
