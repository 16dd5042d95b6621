"""The webhook: rules NV-129 to NV-141, over HTTP and over TLS."""

from __future__ import annotations

import http.client
import shutil
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from reference_impl import runtime
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.configs import EnabledSharing
from reference_impl.webhook import Webhook, WebhookOptions, document
from reference_impl.webhook.command import gates_of
from reference_impl.webhook.review import answer

ALL_OFF = EnabledSharing(time_slicing=False, mps=False)
GOOD = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
PLAIN = WebhookOptions(host="127.0.0.1", port=0, certificate=None, key=None, gates=ALL_OFF)
TIME_SLICING = {**GOOD, "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}}


def config(parameters: Any, driver: str = "gpu.nvidia.com") -> dict[str, Any]:
    return {"opaque": {"driver": driver, "parameters": parameters}}


def review(*configs: Any, plural: str = "resourceclaims", version: str = "v1") -> dict[str, Any]:
    spec: dict[str, Any] = {"devices": {"config": list(configs)}}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "resource": {"group": "resource.k8s.io", "version": version, "resource": plural},
            "object": {"spec": {"spec": spec} if plural == "resourceclaimtemplates" else spec},
        },
    }


def verdict(body: dict[str, Any], **gates: bool) -> dict[str, Any]:
    response: dict[str, Any] = answer(body, gates=replace(ALL_OFF, **gates))["response"]
    assert response["uid"] == "u-1"
    return response


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1beta2"])
def test_a_good_config_is_admitted(version: str) -> None:
    assert verdict(review(config(GOOD), version=version)) == {"uid": "u-1", "allowed": True}


def test_bad_configs_are_all_named() -> None:
    found = verdict(review(config({**GOOD, "x": 1}), config(GOOD), config({"kind": "Foo"})))
    assert not found["allowed"]
    assert found["status"]["reason"] == "Invalid"
    message = found["status"]["message"]
    assert message.startswith("2 configs failed to validate: ")
    assert "spec.devices.config[0].opaque.parameters" in message
    assert 'unknown field "x"' in message
    assert "; error decoding object at spec.devices.config[2]" in message


def test_a_templates_paths_name_both_specs() -> None:
    found = verdict(review(config({}), plural="resourceclaimtemplates"))
    assert "spec.spec.devices.config[0]" in found["status"]["message"]


def test_other_drivers_are_not_looked_at() -> None:
    assert verdict(review(config({"what": "ever"}, "else.nvidia.com"), config(3, "other")))["allowed"]


@pytest.mark.parametrize("domain", ["", ".", "..", "a/b", "../x", "-a", "a" * 64])
def test_the_id_of_a_domain_is_a_label_value(domain: str) -> None:
    parameters = {**GOOD, "kind": "ComputeDomainDaemonConfig", "domainID": domain}
    assert "domainID" in verdict(review(config(parameters, "compute-domain.nvidia.com")))["status"]["message"]
    assert verdict(review(config({**parameters, "domainID": "a" * 63}, "compute-domain.nvidia.com")))["allowed"]


def test_other_resources_are_a_bad_request() -> None:
    assert verdict(review(plural="pods"))["status"]["reason"] == "BadRequest"
    assert verdict(review(version="v9"))["status"]["reason"] == "BadRequest"


def test_unknown_policies_and_misplaced_fields_are_refused() -> None:
    vfio = {**GOOD, "kind": "VfioDeviceConfig"}
    assert verdict(review(config(vfio)))["allowed"]
    policy = {**vfio, "iommu": {"backendPolicy": "Newest"}}
    assert "Newest" in verdict(review(config(policy)))["status"]["message"]
    mig = {**TIME_SLICING, "kind": "MigDeviceConfig"}
    assert "sharing.timeSlicingConfig" in verdict(review(config(mig)), time_slicing=True)["status"]["message"]


def test_a_gate_that_is_off_is_named() -> None:
    assert "TimeSlicingSettings" in verdict(review(config(TIME_SLICING)))["status"]["message"]
    assert verdict(review(config(TIME_SLICING)), time_slicing=True)["allowed"]


@pytest.mark.parametrize(
    "obj",
    [
        "text",
        {"spec": "all"},
        {"spec": {"devices": []}},
        {"spec": {"devices": {"config": {}}}},
        {"spec": {"devices": {"config": ["x"]}}},
        {"spec": {"devices": {"config": [{"opaque": "x"}]}}},
    ],
)
def test_an_object_of_another_shape_is_a_bad_request(obj: Any) -> None:
    body = review()
    body["request"]["object"] = obj
    assert verdict(body)["status"]["reason"] == "BadRequest"


def test_a_request_without_an_object_is_admitted() -> None:
    body = review()
    body["request"] |= {"operation": "DELETE", "object": None}
    assert verdict(body) == {"uid": "u-1", "allowed": True}


def test_nothing_in_a_request_brings_it_down() -> None:
    for resource in (None, [], "x", {"group": {}, "version": [], "resource": 3}):
        body = review()
        body["request"]["resource"] = resource
        assert verdict(body)["status"]["reason"] == "BadRequest"
    assert not verdict(review(config([1]), config(None), config("x")))["allowed"]
    assert verdict({**review(), "request": {**review()["request"], "object": {"spec": {"devices": None}}}})["allowed"]


def test_duplicates_are_found_at_every_depth() -> None:
    found = document.read(b'{"a": 1, "b": {"c": {"d": 1, "d": 2}}, "a": 2}')
    assert found == {"a": 2, "b": {"c": {"d": 2}}}
    assert document.repeated_fields(found) == ["a", "b.c.d"]


@pytest.mark.parametrize("body", [b"", b"{", b"NaN", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        document.read(body)


def test_the_driver_s_gates_have_upstream_s_names() -> None:
    assert gates_of("TimeSlicingSettings=true,MPSSupport=false") == replace(ALL_OFF, time_slicing=True)
    for wrong in ("TimeSlicing=true", "MPSSupport=yes", "MPSSupport"):
        with pytest.raises(ComponentError, match=wrong.partition("=")[0]):
            gates_of(wrong)


def test_as_a_program_it_needs_no_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    files = ["--tls-cert-file", str(tmp_path / "tls.crt"), "--tls-private-key-file", str(tmp_path / "tls.key")]
    assert runtime.main(["webhook", *files]) == 1
    assert f"there is no file {tmp_path / 'tls.crt'}" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        runtime.main(["webhook", "--kubeconfig", "x", *files])


def test_a_stopped_server_closes_its_connections(server: Webhook) -> None:
    assert server.address
    connection = http.client.HTTPConnection(*server.address, timeout=60)
    connection.request("GET", "/readyz")
    assert connection.getresponse().read() == b"ok"
    server.stop()
    connection.sock.settimeout(60)
    assert connection.sock.recv(1) == b""
    connection.close()


@pytest.fixture
def server() -> Iterator[Webhook]:
    webhook = Webhook(options=PLAIN)
    webhook.start()
    yield webhook
    webhook.stop()
    webhook.stop()


def post(webhook: Webhook, body: bytes, content_type: str, *, tls: ssl.SSLContext | None = None) -> tuple[int, bytes]:
    assert webhook.address
    scheme = "https" if tls else "http"
    url = f"{scheme}://{webhook.address[0]}:{webhook.address[1]}/validate-resource-claim-parameters"
    request = urllib.request.Request(url, data=body, headers={"Content-Type": content_type})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=60, context=tls) as found:  # noqa: S310
            return found.status, found.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_http_says_what_is_wrong_with_a_request(server: Webhook) -> None:
    body = orjson.dumps(review(config(GOOD)))
    status, answered = post(server, body, "application/json")
    assert (status, orjson.loads(answered)["response"]["allowed"]) == (200, True)
    assert post(server, body, "text/plain")[0] == 415
    assert post(server, b"{", "application/json")[0] == 400
    assert post(server, b"{}", "application/json")[0] == 400


def test_a_silent_client_does_not_delay_others(server: Webhook) -> None:
    assert server.address
    with socket.create_connection(server.address) as silent:
        silent.sendall(b"POST /validate-resource-claim-parameters HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
        assert post(server, orjson.dumps(review()), "application/json")[0] == 200


def test_a_body_of_more_than_8_mib_is_refused(server: Webhook) -> None:
    assert post(server, b" " * (8 * 1024 * 1024 + 1), "application/json")[0] == 413


def test_it_speaks_tls(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on this machine: no certificate to test with")
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *subject, *files],
        check=True,
        capture_output=True,
    )
    webhook = Webhook(options=replace(PLAIN, certificate=certificate, key=key))
    webhook.start()
    try:
        trusting = ssl.create_default_context(cafile=str(certificate))
        assert post(webhook, orjson.dumps(review()), "application/json", tls=trusting)[0] == 200
        assert webhook.address
        idle = trusting.wrap_socket(socket.create_connection(webhook.address), server_hostname="127.0.0.1")
        assert idle.version() == "TLSv1.3"
        outdated = ssl.create_default_context(cafile=str(certificate))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            outdated.minimum_version, outdated.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        outdated.set_ciphers("DEFAULT@SECLEVEL=0")
        with pytest.raises(urllib.error.URLError, match=r"(?i)ssl"):
            post(webhook, b"{}", "application/json", tls=outdated)
    finally:
        webhook.stop()
    # The server does not wait for an idle client.
    idle.settimeout(60)
    assert idle.recv(1) == b""
    idle.close()


def test_a_broken_certificate_is_one_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "tls.crt"
    broken.write_text("nonsense")
    with pytest.raises(ComponentError, match="cannot use the certificate"):
        Webhook(options=replace(PLAIN, certificate=broken, key=broken)).start()
