"""Device metadata on the node: what a kill, a start or another driver leaves, and the gate that goes off."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from dra_api.objects import Obj
from dra_api.rpc import PreparedDevice
from reference_impl.kubelet_plugin.claims import AllocatedClaim, Result
from reference_impl.kubelet_plugin.metadata import DescribedDevice, MetadataFiles, container_path
from reference_impl.kubelet_plugin.options import FeatureGates, OptionError

DRIVER = "gpu.nvidia.com"


def files(folder: Path, *, enabled: bool = True) -> MetadataFiles:
    return MetadataFiles(driver=DRIVER, folder=folder / "data/metadata", cdi_root=folder / "cdi", enabled=enabled)


def claim(uid: str, *, name: str = "train", pod_claim: str = "") -> AllocatedClaim:
    return AllocatedClaim(uid=uid, name=name, namespace="ns", status={}, pod_claim=pod_claim)


def device(request: str, name: str, **attributes: Obj) -> DescribedDevice:
    result = Result(request=request, pool="n1", device=name, admin_access=False, share_id=None, consumed={})
    return DescribedDevice(result=result, attributes=attributes)


def answer(request: str, name: str) -> PreparedDevice:
    return PreparedDevice((request,), "n1", name, (f"k8s.{DRIVER}/claim={name}",), None)


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_each_request_has_a_file_and_its_first_device_the_id(tmp_path: Path) -> None:
    made = files(tmp_path)
    made.write(claim("u1"), [device("one", "gpu-0"), device("two/big", "gpu-1"), device("two/big", "gpu-2")])
    found = made.add_ids("u1", [answer("one", "gpu-0"), answer("two", "gpu-1"), answer("two", "gpu-2")])
    assert [one.cdi_device_ids[1:] for one in found] == [
        ("gpu.nvidia.com/metadata=u1_one",),
        ("gpu.nvidia.com/metadata=u1_two",),
        (),
    ]
    new, old = (orjson.loads(line) for line in made.file("u1", "two").read_bytes().splitlines())
    assert (new.pop("apiVersion"), old.pop("apiVersion")) == (
        "metadata.resource.k8s.io/v1beta1",
        "metadata.resource.k8s.io/v1alpha1",
    )
    assert new == old
    assert new["requests"] == [
        {
            "name": "two/big",
            "devices": [{"driver": DRIVER, "pool": "n1", "name": name} for name in ("gpu-1", "gpu-2")],
        }
    ]


def test_attributes_are_those_of_the_device(tmp_path: Path) -> None:
    made = files(tmp_path)
    made.write(claim("u1"), [device("one", "gpu-vfio-0", vendorID={"string": "0x10de"})])
    first = orjson.loads(made.file("u1", "one").read_bytes().splitlines()[0])
    assert first["requests"][0]["devices"][0]["attributes"] == {"vendorID": {"string": "0x10de"}}


@pytest.mark.parametrize(
    ("pod_claim", "path"),
    [
        ("", "resourceclaims/train/one/gpu.nvidia.com-metadata.json"),
        ("gpu", "resourceclaimtemplates/gpu/one/gpu.nvidia.com-metadata.json"),
    ],
)
def test_the_path_in_containers(pod_claim: str, path: str) -> None:
    found = container_path(claim("u1", pod_claim=pod_claim), "one", driver=DRIVER)
    assert found == f"/var/run/kubernetes.io/dra-device-attributes/{path}"


def test_a_claim_of_the_same_name_keeps_its_metadata(tmp_path: Path) -> None:
    """The old claim of a name is unprepared after the new one is prepared; one uid is a prefix of the other."""
    made = files(tmp_path)
    for uid in ("u1", "u10"):
        made.write(claim(uid), [device("one", "gpu-0")])
    made.remove("u1")
    assert tree(tmp_path) == ["cdi/gpu.nvidia.com_metadata_u10_one.json", "data/metadata/u10/one.json"]
    made.remove("u1")
    made.remove("u10")
    assert tree(tmp_path) == []


def test_a_start_removes_what_no_claim_has_and_nothing_of_others(tmp_path: Path) -> None:
    made = files(tmp_path)
    for uid in ("kept", "files", "specs"):
        made.write(claim(uid), [device("one", "gpu-0")])
    made.remove_files("specs")
    made.spec("files", "one").unlink()
    others = {"other.example.com_metadata_u_one.json", ".other.example.com_metadata_u_one.json.partial"}
    for name in (*others, ".gpu.nvidia.com_metadata_kept_one.json.partial"):
        (tmp_path / "cdi" / name).touch()
    assert files(tmp_path).clean({"kept"}) == ["files", "specs"]
    wanted = ["data/metadata/kept/one.json", "cdi/gpu.nvidia.com_metadata_kept_one.json"]
    assert tree(tmp_path) == sorted([*wanted, *(f"cdi/{name}" for name in others)])


def test_lost_files_are_noticed(tmp_path: Path) -> None:
    made = files(tmp_path)
    made.write(claim("u1"), [device("one", "gpu-0"), device("two", "gpu-1")])
    stored = made.add_ids("u1", [answer("one", "gpu-0"), answer("two", "gpu-1")])
    assert not made.is_lost("u1", stored)
    made.spec("u1", "two").unlink()
    assert made.is_lost("u1", stored)
    # A claim from a time when the gate was off has no metadata to lose.
    assert not made.is_lost("u1", [answer("one", "gpu-0"), answer("two", "gpu-1")])


def test_metadata_is_removed_with_the_gate_off_too(tmp_path: Path) -> None:
    files(tmp_path).write(claim("u1"), [device("one", "gpu-0")])
    files(tmp_path, enabled=False).remove("u1")
    assert tree(tmp_path) == []


def test_a_start_without_folders_is_fine(tmp_path: Path) -> None:
    assert files(tmp_path).clean({}) == []
    files(tmp_path).remove("u1")


def test_a_write_that_fails_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    made = files(tmp_path)
    made.write(claim("u1"), [device("one", "gpu-0")])
    before = made.file("u1", "one").read_bytes()
    (tmp_path / "data/metadata/u1/.one.json.partial").mkdir()  # stands for a full disk
    with pytest.raises(OSError, match="one"):
        made.write(claim("u1"), [device("one", "gpu-1")])
    assert made.file("u1", "one").read_bytes() == before


def test_the_gate_needs_pass_through() -> None:
    with pytest.raises(OptionError, match="DeviceMetadata needs PassthroughSupport"):
        FeatureGates.parse("DeviceMetadata=true,NVMLDeviceHealthCheck=false")
    assert not FeatureGates.parse("").DeviceMetadata
    assert FeatureGates.parse("DeviceMetadata=true,PassthroughSupport=true,NVMLDeviceHealthCheck=false").DeviceMetadata
