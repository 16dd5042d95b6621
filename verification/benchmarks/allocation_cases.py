"""Clusters and claims for the allocation benchmarks, as plain API objects: the same input for both sides.

A case is the input of `verification/third_party/go/allocator`: `features`, `nodes`, `slices`, `classes`, `claims`,
`taken`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dra_api.objects import Obj

DRIVER = "gpu.example.com"
RELEASE = dict.fromkeys(
    (
        "AdminAccess",
        "PrioritizedList",
        "PartitionableDevices",
        "DeviceTaints",
        "DeviceBindingAndStatus",
        "ConsumableCapacity",
    ),
    True,
)
# MIG profiles of an H200: name, memory slices, compute slices, first memory slices (nvidia-smi mig -lgipp).
PROFILES = (
    ("1g.18gb", 1, 1, range(7)),
    ("1g.18gb+me", 1, 1, range(7)),
    ("1g.35gb", 2, 1, range(0, 8, 2)),
    ("2g.35gb", 2, 2, range(0, 6, 2)),
    ("3g.71gb", 4, 3, (0, 4)),
    ("4g.71gb", 4, 4, (0,)),
    ("7g.141gb", 8, 7, (0,)),
    ("gpu", 8, 7, (0,)),
)


def case(
    slices: Sequence[Obj],
    claims: Sequence[Obj],
    *,
    nodes: int = 1,
    taken: Iterable[tuple[str, str]] = (),
    classes: Sequence[Obj] = (),
) -> Obj:
    """A case on nodes `n0`, `n1`, …; `taken` are pools and devices in use."""
    return {
        "features": RELEASE,
        "nodes": [{"metadata": {"name": f"n{at}"}} for at in range(nodes)],
        "slices": list(slices),
        "classes": [device_class("gpu", f'device.driver == "{DRIVER}"'), *classes],
        "claims": list(claims),
        "taken": [{"request": "r", "driver": DRIVER, "pool": pool, "device": device} for pool, device in taken],
    }


def device_class(name: str, expression: str) -> Obj:
    """A DeviceClass with one selector."""
    return {"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": expression}}]}}


def node_slices(at: int, devices: Sequence[Obj]) -> list[Obj]:
    """The pool of node number `at`: at most 64 devices a slice."""
    parts = [devices[first : first + 64] for first in range(0, len(devices), 64)] or [[]]
    return [
        {
            "metadata": {"name": f"n{at}-{number:03}"},
            "spec": {
                "driver": DRIVER,
                "pool": {"name": f"n{at}", "generation": 1, "resourceSliceCount": len(parts)},
                "nodeName": f"n{at}",
                "devices": list(part),
            },
        }
        for number, part in enumerate(parts)
    ]


def gpus(count: int, *, per_root: int = 4) -> list[Obj]:
    """Equal whole GPUs, `per_root` behind each PCIe root."""
    return [
        {
            "name": f"gpu-{at}",
            "attributes": {
                "type": {"string": "gpu"},
                "index": {"int": at},
                "pcieRoot": {"string": f"root-{at // per_root}"},
                "driverVersion": {"version": "1.0.0"},
            },
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for at in range(count)
    ]


def device_request(count: int = 1, *, name: str = "r0", device_class: str = "gpu", **more: object) -> Obj:
    """One request."""
    return {
        "name": name,
        "exactly": {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count, **more},
    }


def claim(*requests: Obj, name: str = "c0", constraints: Sequence[Obj] = ()) -> Obj:
    """One claim."""
    devices: Obj = {"requests": list(requests)}
    if constraints:
        devices["constraints"] = list(constraints)
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "spec": {"devices": devices}}


def singles(count: int, *, device_class: str = "gpu") -> list[Obj]:
    """So many claims of one device each."""
    return [claim(device_request(device_class=device_class), name=f"c{at}") for at in range(count)]


def mig_node() -> list[Obj]:
    """The pool of one node of 8 H200 as 208 partitions: a slice of counters and one of devices for each GPU."""
    sets = [
        {
            "name": f"gpu-{gpu}",
            "counters": {
                "compute": {"value": "7"},
                **{f"memory-slice-{at}": {"value": "1"} for at in range(8)},
            },
        }
        for gpu in range(8)
    ]
    bodies: list[Obj] = [{"sharedCounters": sets}]
    for gpu in range(8):
        bodies.append(
            {
                "devices": [
                    {
                        "name": f"gpu-{gpu}-{profile.replace('.', '-').replace('+', '-')}-{first}",
                        "attributes": {"profile": {"string": profile}, "parent": {"int": gpu}},
                        "consumesCounters": [
                            {
                                "counterSet": f"gpu-{gpu}",
                                "counters": {
                                    "compute": {"value": str(compute)},
                                    **{f"memory-slice-{at}": {"value": "1"} for at in range(first, first + memory)},
                                },
                            }
                        ],
                    }
                    for profile, memory, compute, firsts in PROFILES
                    for first in firsts
                ]
            }
        )
    return [
        {
            "metadata": {"name": f"n0-{number:03}"},
            "spec": {
                "driver": DRIVER,
                "pool": {"name": "n0", "generation": 1, "resourceSliceCount": len(bodies)},
                "nodeName": "n0",
                **body,
            },
        }
        for number, body in enumerate(bodies)
    ]


def mig(taken: Sequence[str]) -> Obj:
    """Seven claims of a 1g slice on a node of 8 H200 with some devices in use."""
    profile = device_class("1g", f'device.attributes["{DRIVER}"].profile == "1g.18gb"')
    return case(mig_node(), singles(7, device_class="1g"), taken=[("n0", name) for name in taken], classes=[profile])


def shares(amount: str, *, used: int = 0) -> Obj:
    """16 requests of `amount` on 128 devices of 80Gi that may be shared; the first `used` have 40Gi in use."""
    devices = [{**device, "allowMultipleAllocations": True} for device in gpus(128)]
    requests = [device_request(name=f"r{at}", capacity={"requests": {"memory": amount}}) for at in range(16)]
    made = case(node_slices(0, devices), [claim(*requests)])
    made["taken"] = [
        {
            "request": "r",
            "driver": DRIVER,
            "pool": "n0",
            "device": f"gpu-{at}",
            "shareID": f"00000000-0000-4000-8000-{at:012}",
            "consumedCapacity": {"memory": "40Gi"},
        }
        for at in range(used)
    ]
    return made


def matched(count: int = 64) -> Obj:
    """A claim of 4 behind one PCIe root; every root but the last has one device in use."""
    constraint = {"matchAttribute": f"{DRIVER}/pcieRoot"}
    return case(
        node_slices(0, gpus(count)),
        [claim(device_request(4), constraints=[constraint])],
        taken=[("n0", f"gpu-{at}") for at in range(0, count - 4, 4)],
    )


def cluster(nodes: int, *, full: int, nearly: bool = False) -> Obj:
    """Return nodes with 8 devices each; the first `full` have none free. With `nearly`, every node has one free."""
    slices = [slice_ for at in range(nodes) for slice_ in node_slices(at, gpus(8))]
    # One device free on every node, or none on the first `full` nodes.
    gone = 7 if nearly else 8
    taken = [(f"n{at}", f"gpu-{device}") for at in range(nodes if nearly else full) for device in range(gone)]
    made = case(slices, singles(1), nodes=nodes, taken=taken)
    made["firstFit"] = not nearly
    return made


def too_many_requests(devices: int) -> Obj:
    """Request one device more than available, in one claim, or in several if a claim cannot hold that many requests."""
    # A claim has 32 requests at most.
    if devices < 32:
        return case(
            node_slices(0, gpus(devices)), [claim(*(device_request(name=f"r{at}") for at in range(devices + 1)))]
        )
    return case(node_slices(0, gpus(devices)), singles(devices + 1))


def too_many_counted(devices: int) -> Obj:
    """One device more than there are, as the count of one request, or of several claims of at most 31."""
    wanted = devices + 1
    claims = [claim(device_request(min(31, wanted - first)), name=f"c{first}") for first in range(0, wanted, 31)]
    return case(node_slices(0, gpus(devices)), claims)


def last_two_match(devices: int) -> Obj:
    """Ten requests, the last two of which must share an attribute whose values all differ."""
    constraint = {"matchAttribute": f"{DRIVER}/index", "requests": ["r8", "r9"]}
    return case(
        node_slices(0, gpus(devices)),
        [claim(*(device_request(name=f"r{at}") for at in range(10)), constraints=[constraint])],
    )


def distinct_short(devices: int) -> Obj:
    """Ten requests for ten different values of an attribute with nine values."""
    found = gpus(devices)
    for at, device in enumerate(found):
        device["attributes"]["index"] = {"int": at % 9}
    constraint = {"distinctAttribute": f"{DRIVER}/index"}
    return case(
        node_slices(0, found), [claim(*(device_request(name=f"r{at}") for at in range(10)), constraints=[constraint])]
    )


def last_matches_nothing(devices: int) -> Obj:
    """Ten requests, the last of which selects no device."""
    nothing = device_request(name="r9", selectors=[{"cel": {"expression": "false"}}])
    return case(node_slices(0, gpus(devices)), [claim(*(device_request(name=f"r{at}") for at in range(9)), nothing)])
