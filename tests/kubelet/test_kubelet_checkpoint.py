"""The checkpoint: what survives, in which shape, and what a broken file does."""

from __future__ import annotations

import stat
import zlib
from pathlib import Path

import orjson
import pytest
from kubelet_world import World

from dra_api.rpc import ClaimRef, PreparedDevice
from dra_conformance.kubelet import CheckpointCorrupt
from dra_conformance.kubelet.claim_cache import ClaimCache, ClaimRecord

DEVICE = PreparedDevice(("r",), "pool", "dev", ("v.com/c=1",))


def written(folder: Path) -> ClaimCache:
    cache = ClaimCache(folder)
    cache.add(ClaimRecord(ClaimRef("ns", "uid", "c"), {"d": (DEVICE,)}, {"pod"}, prepared=True))
    cache.checkpoint()
    return cache


def test_it_reads_back_as_not_prepared(tmp_path: Path) -> None:
    cache = written(tmp_path)
    (record,) = ClaimCache(tmp_path).all()
    assert record.ref == ClaimRef("ns", "uid", "c")
    assert (record.drivers, record.pod_uids, record.prepared) == ({"d": (DEVICE,)}, {"pod"}, False)
    assert record.skipped == {"d": ()}
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600


def test_it_has_the_kubelets_shape(tmp_path: Path) -> None:
    outer = orjson.loads(written(tmp_path).path.read_bytes())
    assert outer["Checksum"] == zlib.crc32(outer["Data"].encode())
    data = orjson.loads(outer["Data"])
    (state,) = data["ClaimInfoStateList"]
    assert state["DriverState"]["d"]["Devices"] == [
        {
            "PoolName": "pool",
            "DeviceName": "dev",
            "RequestNames": ["r"],
            "ShareID": None,
            "CDIDeviceIDs": ["v.com/c=1"],
        }
    ]


@pytest.mark.parametrize("content", [b"", b"{}", b'{"Data": "{}", "Checksum": 1}', b'{"Data": 3}', b"[]"])
def test_a_broken_file_stops_the_kubelet_with_one_sentence(world: World, content: bytes) -> None:
    world.kubelet.state_dir.mkdir(parents=True)
    (world.kubelet.state_dir / "dra_manager_state").write_bytes(content)
    with pytest.raises(CheckpointCorrupt, match="remove the file to start anew"):
        world.kubelet.start()
    (world.kubelet.state_dir / "dra_manager_state").unlink()
    world.kubelet.start()


def test_the_pods_of_a_driver(tmp_path: Path) -> None:
    cache = ClaimCache(tmp_path)
    cache.add(ClaimRecord(ClaimRef("ns", "u1", "a"), {"d": (DEVICE,)}, {"one", "two"}))
    cache.add(ClaimRecord(ClaimRef("ns", "u2", "b"), {"e": (DEVICE,)}, {"two", "three"}))
    assert cache.pod_uids() == {"one", "two", "three"}
    assert cache.pod_uids("e") == {"two", "three"}
    assert cache.pod_uids("other") == set()
