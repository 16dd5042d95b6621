"""Changes of the checkpoint are in its file, also those of another process."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from dra_api.rpc import PreparedDevice
from reference_impl.kubelet_plugin.checkpoint import (
    Checkpoint,
    ClaimEntry,
    ClaimState,
    HeldDevice,
    completed,
    decode,
    encode,
)


def started(uid: str, device: str) -> ClaimEntry:
    results = [{"request": "gpu", "driver": "gpu.nvidia.com", "pool": "n1", "device": device}]
    status = {"allocation": {"devices": {"results": results}}, "zulu": 1, "alpha": {"y": 2, "x": 1}}
    return ClaimEntry(state=ClaimState.STARTED, status=status, name=f"claim-{uid}", namespace="ns")


def done(entry: ClaimEntry, device: str) -> ClaimEntry:
    answer = PreparedDevice(("gpu",), "n1", device, (f"k8s.gpu.nvidia.com/claim={device}",))
    return completed(entry, (HeldDevice(answer=answer, type="gpu"),))


def test_every_change_is_in_the_file(tmp_path: Path) -> None:
    dice = random.Random(5304)  # noqa: S311 - no secret
    checkpoint = Checkpoint(tmp_path / "c.json", boot_id="boot")
    checkpoint.open()
    held: dict[str, ClaimEntry] = {}
    for number in range(200):
        uid, device = f"u{dice.randrange(6)}", f"gpu-{number}"
        match dice.randrange(5):
            case 0 | 1:
                held[uid] = started(uid, device)
                checkpoint.put(uid, held[uid])
            case 2 if uid in held:
                held[uid] = done(held[uid], device)
                checkpoint.put(uid, held[uid])
            case 3 if uid in held:
                held[uid] = replace(held[uid], config_state={"timeSlice": number})
                checkpoint.put(uid, held[uid])
            case _:
                if held.pop(uid, None) is not None:
                    checkpoint.drop(uid)
        data = checkpoint.path.read_bytes()
        assert data == encode(held, boot_id="boot")
        assert decode(data) == (held, "boot")


def test_what_another_process_wrote_is_kept(tmp_path: Path) -> None:
    """During a rolling update two plugins have the file; neither overwrites the changes of the other."""
    one, other = (Checkpoint(tmp_path / "c.json", boot_id="boot") for _ in range(2))
    one.open()
    one.put("a", started("a", "gpu-0"))
    other.put("b", started("b", "gpu-1"))
    other.put("a", done(started("a", "gpu-0"), "gpu-0"))
    one.put("c", started("c", "gpu-2"))
    found = other.claims()
    assert {uid: entry.state for uid, entry in found.items()} == {
        "a": ClaimState.COMPLETED,
        "b": ClaimState.STARTED,
        "c": ClaimState.STARTED,
    }
    assert found["a"].answer[0].device_name == "gpu-0"
