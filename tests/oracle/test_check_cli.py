"""`dra-conformance check` and `simulate` as a user runs them: files, output and exit code."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import yaml
from oracle_clusters import DRIVER, Said, claim, device_class, exactly, node, resource_slice
from test_planted_faults import allocated, device, result

from dra_api.objects import Obj

CLASS = device_class("gpu", "device.attributes['gpu.example.com'].kind == 'gpu'")


def cluster(*more: Obj) -> list[Obj]:
    gpus = [device("a0"), device("a1"), device("b0")]
    held = allocated(claim("held", exactly("r", "gpu")), result("a0"))
    return [node("n1"), resource_slice("s", gpus, pool="n1", nodeName="n1"), copy.deepcopy(CLASS), held, *more]


def write(folder: Path, objects: Iterable[Obj], name: str = "all.yaml") -> str:
    path = folder / name
    path.write_text(yaml.safe_dump_all(list(objects)))
    return str(path)


# -- check -------------------------------------------------------------------------------------------------------------


def test_a_valid_cluster_passes(tmp_path: Path, said: Said) -> None:
    code, text = said("check", write(tmp_path, cluster()))
    assert (code, text) == (0, "1 allocated claims checked: no rule is broken\n")


def test_a_device_given_twice_is_named_with_claims_device_and_rule(tmp_path: Path, said: Said) -> None:
    thief = allocated(claim("thief", exactly("r", "gpu")), result("a0"))
    code, text = said("check", write(tmp_path, cluster(thief)))
    assert code == 1
    assert "BROKEN  claim ns/held" in text
    assert "DRA-133  device gpu.example.com/n1/a0 is allocated to claim ns/thief too" in text
    assert "at status.allocation.devices.results[0].device" in text
    assert "2 violations in 2 claims" in text


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
@pytest.mark.parametrize("form", ["yaml documents", "yaml list", "json list", "json documents", "typed list", "folder"])
def test_every_version_and_form_is_read(tmp_path: Path, said: Said, version: str, form: str) -> None:
    thief = allocated(claim("thief", exactly("r", "gpu")), result("a0"))
    objects = [in_version(obj, version) for obj in cluster(thief)]
    path = tmp_path / "dump"
    if form == "yaml documents":
        path.write_text(yaml.safe_dump_all(objects))
    elif form == "yaml list":
        path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": objects}))
    elif form == "json list":
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    elif form == "json documents":
        path.write_text("\n".join(json.dumps(obj, indent=2) for obj in objects))
    elif form == "typed list":
        bare = [{key: value for key, value in obj.items() if key not in ("kind", "apiVersion")} for obj in objects]
        lists = [
            {"apiVersion": obj["apiVersion"], "kind": f"{obj['kind']}List", "items": [item]}
            for obj, item in zip(objects, bare, strict=True)
        ]
        path.write_text(yaml.safe_dump_all(lists))
    else:
        path.mkdir()
        for number, obj in enumerate(objects):
            (path / f"{number}.json").write_text(json.dumps(obj))
    code, text = said("check", str(path))
    assert code == 1, text
    assert "DRA-133" in text


def in_version(obj: Obj, version: str) -> Obj:
    """The object as an older version of the API has it."""
    made = copy.deepcopy(obj)
    if not made["apiVersion"].startswith("resource.k8s.io"):
        return made
    made["apiVersion"] = f"resource.k8s.io/{version}"
    if version == "v1beta1":
        for request in made["spec"].get("devices", {}).get("requests", ()) if made["kind"] == "ResourceClaim" else ():
            request |= request.pop("exactly")
        if made["kind"] == "ResourceSlice":
            made["spec"]["devices"] = [
                {"name": one.pop("name"), "basic": one} for one in made["spec"].get("devices", ())
            ]
    return made


def request_of(objects: list[Obj]) -> Obj:
    request: Obj = objects[3]["spec"]["devices"]["requests"][0]["exactly"]
    return request


def pod_with(**spec: object) -> Obj:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}


def template_with(spec: Obj) -> Obj:
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
    return {**kind, "metadata": {"name": "t"}, "spec": {"spec": spec}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda o: o[1]["spec"].pop("driver"),
            ("all.yaml, document 2: ResourceSlice s, field spec.driver: is missing",),
        ),
        (
            lambda o: o[1]["spec"]["devices"][1].update(capacity={"m": {"value": "40Gx"}}),
            (
                "document 2: ResourceSlice s, field spec.devices[1].capacity[m].value",
                "'40Gx' is not a quantity: quantities must match",
            ),
        ),
        (
            lambda o: o[3]["spec"]["devices"]["requests"][0]["exactly"].update(count="two"),
            ("document 4: ResourceClaim ns/held, field spec.devices.requests[0].exactly.count", "Expected `int`"),
        ),
        (
            lambda o: o[3]["spec"]["devices"]["requests"][0].pop("exactly"),
            ("document 4: ResourceClaim ns/held, field spec.devices.requests[0]: needs exactly one of",),
        ),
        (
            lambda o: o[1]["spec"]["devices"][0].update(attributes={"a": {"text": "x"}}),
            ("document 2: ResourceSlice s, field spec.devices[0].attributes[a]: needs exactly one of int,",),
        ),
        (
            lambda o: o[1]["spec"]["devices"][0].update(attributes={"a": {"int": "x"}}),
            ("ResourceSlice s, field spec.devices[0].attributes[a].int: expected a whole number, got 'x'",),
        ),
        (
            lambda o: o[1]["spec"]["devices"][0].update(attributes={"a": {"versions": ["1.2.3", "v1"]}}),
            ("spec.devices[0].attributes[a].versions[1]: expected a semantic version such as 1.2.3, got 'v1'",),
        ),
        (
            lambda o: o[1]["spec"]["devices"][0].update(attributes={"a": {"bools": True}}),
            ("spec.devices[0].attributes[a].bools: expected a list, got True",),
        ),
        (
            lambda o: o[1]["spec"]["devices"][0].update(attributes={5: {"int": 1}}),
            ("document 2: ResourceSlice s, field spec.devices[0].attributes: has a key that is not text",),
        ),
        (
            lambda o: o[1]["spec"]["devices"][0].update(capacity={"m": {"value": 1}, "n": {"value": []}}),
            ("spec.devices[0].capacity[n].value: expected a quantity such as 40Gi, got []",),
        ),
        (
            lambda o: o[1]["spec"]["devices"][0].update(
                capacity={"m": {"value": 1, "requestPolicy": {"validRange": {"min": 1, "step": 0}}}}
            ),
            ("spec.devices[0].capacity[m].requestPolicy.validRange.step: 0 is not greater than zero",),
        ),
        (
            lambda o: o[1]["metadata"].update(managedFields=[{"time": "yesterday"}]),
            ("ResourceSlice s, field metadata.managedFields[0].time: 'yesterday' is not a time",),
        ),
        (
            lambda o: o[1]["spec"].update(nodeSelector={}),
            ("ResourceSlice s, field spec.nodeSelector.nodeSelectorTerms: needs at least one term",),
        ),
        (
            lambda o: o[1]["spec"].update(
                nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Like"}]}]}
            ),
            ("spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].operator: 'Like' is none of In, NotIn",),
        ),
        (
            lambda o: o[1].update(apiVersion="resource.k8s.io/v7"),
            ("document 2: ResourceSlice s, field apiVersion: resource.k8s.io/v7 is an unknown version",),
        ),
        (lambda o: request_of(o).update(count=-1), ("spec.devices.requests[0].exactly.count: -1 is not greater than",)),
        (
            lambda o: request_of(o).update(allocationMode="Some"),
            ("exactly.allocationMode: 'Some' is none of ExactCount",),
        ),
        (
            lambda o: request_of(o).update(tolerations=[{"operator": "Near"}]),
            ("spec.devices.requests[0].exactly.tolerations[0].operator: 'Near' is none of Equal, Exists",),
        ),
        (
            lambda o: o[3]["spec"]["devices"]["requests"].append(o[3]["spec"]["devices"]["requests"][0]),
            ("spec.devices.requests[1].name: 'r' is the name of an earlier entry too",),
        ),
        (
            lambda o: o[2]["spec"].update(extendedResourceName=5),
            ("document 3: DeviceClass gpu, field spec.extendedResourceName: Expected `str`",),
        ),
        (lambda o: o[0].update(spec={"taints": "x"}), ("document 1: Node n1, field spec.taints: Expected `array`",)),
        (
            lambda o: o.append(pod_with(containers="c")),
            ("document 5: Pod default/p, field spec.containers: Expected `array`",),
        ),
        (
            lambda o: o.append(pod_with(containers=[{"name": "c", "resources": {"requests": {"a.b/c": "lots"}}}])),
            ("Pod default/p, field spec.containers[0].resources.requests[a.b/c]: 'lots' is not a quantity",),
        ),
        (
            lambda o: o.append(template_with({"devices": {"requests": "r"}})),
            ("document 5: ResourceClaimTemplate t, field spec.spec.devices.requests: Expected `array`, got `str`",),
        ),
        (
            lambda o: o.append(template_with({"devices": {"requests": [{"name": "r"}]}})),
            ("ResourceClaimTemplate t, field spec.spec.devices.requests[0]: needs exactly one of exactly",),
        ),
        (lambda o: o.__setitem__(0, {"a": 1}), ("document 1: is not a Kubernetes object: it has no kind",)),
        (lambda o: o[2].pop("apiVersion"), ("document 3, field apiVersion: is missing from DeviceClass",)),
        (lambda o: o.__delitem__(1), ("the files contain no ResourceSlice", "kubectl get resourceslices,")),
        (lambda o: o.__delitem__(2), ("the files contain no DeviceClass",)),
    ],
)
def test_malformed_files_name_file_document_and_field(
    tmp_path: Path, said: Said, change: Callable[[list[Obj]], object], words: tuple[str, ...]
) -> None:
    objects = cluster()
    change(objects)
    path = write(tmp_path, objects)
    for command in ("check", "simulate"):
        code, text = said(command, path)
        if command == "simulate" and words[0].startswith("the files contain no"):
            continue  # there it is an answer: nothing can be had
        assert code == 4, text
        for word in words:
            assert word in text


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("a: [1", "line 2: not valid YAML"),
        ('{"kind": "Pod",', "not valid YAML"),
        ("- 1", "is not a Kubernetes"),
        ("a: " + "[" * 200_000, "is nested too deeply"),
        ("- " * 200_000, "is nested too deeply"),
        ('{"a":' * 200_000, "document 1: is nested too deeply"),
        ("kind: Pod\napiVersion: v1\nmetadata: {creationTimestamp: 2020-13-45}", "a value is not of its type"),
        ("a: 1\n---\nb: &b [1, *b]", "document 2: an alias contains itself"),
        (
            "a0: &a0 [1, 2]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
            "its aliases expand to more than 1000000 values",
        ),
    ],
)
def test_what_does_not_parse_is_named(tmp_path: Path, said: Said, content: str, word: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content + "\n")
    code, text = said("check", str(path))
    assert code == 4
    assert str(path) in text or "bad.yaml" in text
    assert word in text


def test_no_file_and_no_claim(tmp_path: Path, said: Said) -> None:
    code, text = said("check", str(tmp_path / "none.yaml"))
    assert code == 4
    assert "cannot read" in text
    code, text = said("check", write(tmp_path, cluster()[:3]))
    assert code == 5
    assert "none of 0 claims is allocated" in text


def test_one_claim_and_json(tmp_path: Path, said: Said) -> None:
    thief = allocated(claim("thief", exactly("r", "gpu")), result("a0"))
    path = write(tmp_path, cluster(thief))
    code, text = said("check", path, "--claim", "thief", "--format", "json")
    assert code == 1
    checked = json.loads(text)["checked"]
    assert [(one["name"], one["valid"], one["violations"][0]["rule"]) for one in checked] == [
        ("thief", False, "DRA-133")
    ]
    code, text = said("check", path, "--claim", "unknown")
    assert code == 4
    assert "not in the files (claims: ns/held, ns/thief)" in text


def test_unallocated_claims_are_judged_on_request(tmp_path: Path, said: Said) -> None:
    objects = cluster(claim("small", exactly("r", "gpu", count=2)), claim("large", exactly("r", "gpu", count=3)))
    code, text = said("check", write(tmp_path, objects), "--pending")
    assert code == 0
    assert "yes     claim ns/small could be allocated on node n1: r=gpu.example.com/n1/a1" in text
    assert "no      claim ns/large cannot be allocated" in text


# -- simulate ----------------------------------------------------------------------------------------------------------


def test_what_fits_and_what_stands_in_the_way(tmp_path: Path, said: Said) -> None:
    objects = cluster(claim("one", exactly("r", "gpu", count=2)), claim("two", exactly("r", "gpu")))
    code, text = said("simulate", write(tmp_path, objects))
    assert code == 1
    assert "fits    claim ns/one on n1: r=gpu.example.com/n1/a1, r=gpu.example.com/n1/b0" in text
    assert "PENDING claim ns/two" in text
    assert (
        "claim ns/two, request r: wants 1 device, but none of 3 is free (gpu.example.com/n1/a0 is allocated to" in text
    )
    assert "is allocated to claim ns/held) [n1]" in text
    assert text.endswith("1 of 2 fit\n")


def test_one_more_node_helps(tmp_path: Path, said: Said) -> None:
    path = write(tmp_path, cluster(claim("one", exactly("r", "gpu", count=3))))
    code, text = said("simulate", path, "--add-node-like", "n1")
    assert code == 0
    assert "with one more node like n1: fits on n1-simulated: r=gpu.example.com/n1-simulated/a0" in text
    assert text.endswith("0 of 1 fit; 1 with one more node like n1\n")


def test_one_more_node_does_not_help(tmp_path: Path, said: Said) -> None:
    match = [{"matchAttribute": f"{DRIVER}/root", "requests": ["r"]}]
    path = write(tmp_path, cluster(claim("one", exactly("r", "gpu", count=3), constraints=match)))
    code, text = said("simulate", path, "--add-node-like", "n1", "--format", "json")
    assert code == 1
    answer = json.loads(text)
    assert answer["withOneMore"][0]["fits"] is False
    assert (
        "claim ns/one: no free devices satisfy matchAttribute gpu.example.com/root over requests r [n1-simulated]"
        in (answer["withOneMore"][0]["reason"])
    )


def test_a_pod_with_a_template(tmp_path: Path, said: Said) -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {"spec": claim("x", exactly("r", "gpu"))["spec"]},
    }
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{number}"},
            "spec": {
                "containers": [{"name": "c", "image": "i"}],
                "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
            },
        }
        for number in range(3)
    ]
    path = write(tmp_path, cluster(template, *pods))
    code, text = said("simulate", path)
    assert code == 1
    assert "fits    pod default/p0 on n1" in text
    assert "fits    pod default/p1 on n1" in text
    assert "PENDING pod default/p2" in text
    code, text = said("simulate", path, "--pod", "p2")
    assert code == 0
    code, text = said("simulate", write(tmp_path, cluster(*pods)))
    assert code == 4
    assert "pod default/p0 uses ResourceClaimTemplate t, which is not in the files" in text


def test_counters_are_named(tmp_path: Path, said: Said) -> None:
    def partition(name: str) -> Obj:
        return {"name": name, "consumesCounters": [{"counterSet": "gpu0", "counters": {"mem": {"value": "40Gi"}}}]}

    objects = [
        node("n1"),
        resource_slice("c", pool="p", count=2, counters={"gpu0": {"mem": "80Gi"}}, nodeName="n1"),
        resource_slice("d", [partition("h0"), partition("h1"), partition("h2")], pool="p", count=2, nodeName="n1"),
        device_class("any", "true"),
        claim("three", exactly("r", "any", count=3)),
    ]
    code, text = said("simulate", write(tmp_path, objects))
    assert code == 1
    assert "three: 80Gi is left of the 80Gi of counter gpu0/mem of pool gpu.example.com/p, which is too" in text


def test_one_alternative_without_a_class_is_the_obstacle(tmp_path: Path, said: Said) -> None:
    alternatives = [{"name": each, "deviceClassName": each, "count": 1} for each in ("gpu", "lost")]
    code, text = said("simulate", write(tmp_path, cluster(claim("one", {"name": "r", "firstAvailable": alternatives}))))
    assert code == 1
    assert "claim ns/one, request r/lost: the class lost does not exist" in text


def test_refusals_of_simulate(tmp_path: Path, said: Said) -> None:
    path = write(tmp_path, cluster(claim("one", exactly("r", "gpu"))))
    for args, word in (
        (["--node", "n9"], "--node n9: not in the files (nodes: n1)"),
        (["--add-node-like", "n9", "--claim", "one"], ""),
        (["--claim", "held"], "it is already allocated"),
        (["--claim", "unknown"], "--claim unknown: not in the files"),
        (["--pod", "unknown"], "--pod unknown: not in the files"),
    ):
        code, text = said("simulate", path, *args)
        assert code == (4 if word else 0), text
        assert word in text
    code, text = said("simulate", write(tmp_path, cluster()))
    assert code == 5
    code, text = said("simulate", write(tmp_path, cluster()[1:]))
    assert code == 4
    assert "the files contain no Node" in text


def test_text_that_is_no_unicode_is_read(tmp_path: Path, said: Said) -> None:
    objects = cluster()
    objects[-1]["metadata"]["annotations"] = {"a": "\ud800"}
    path = tmp_path / "all.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
    assert said("check", str(path))[0] == 0
    assert said("simulate", str(path))[0] in (0, 5)
