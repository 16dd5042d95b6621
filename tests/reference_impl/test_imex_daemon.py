"""Tests of the daemon of ComputeDomains: its pure functions, its check and its command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dra_api.clock import RealClock
from dra_api.objects import Obj
from reference_impl.compute_domain import imex_config, imex_process, peer_names
from reference_impl.compute_domain.cliques import joined
from reference_impl.compute_domain.imex_daemon import DaemonSettings
from reference_impl.errors import ComponentError

PROGRAM = [sys.executable, "-m", "reference_impl", "compute-domain-daemon"]
POD = {
    "COMPUTE_DOMAIN_UUID": "d",
    "CLIQUE_ID": "rack.0",
    "NODE_NAME": "n1",
    "POD_NAME": "p",
    "POD_NAMESPACE": "ns",
    "POD_IP": "127.9.9.9",
}


def entry(node: str, index: int, *, ip: str = "192.0.2.1", clique: str = "rack.0") -> Obj:
    return {"nodeName": node, "ipAddress": ip, "cliqueID": clique, "index": index, "status": "Ready"}


def test_names_are_those_of_valid_entries_of_the_clique() -> None:
    daemons = [
        entry("n1", 0, ip="192.0.2.1"),
        entry("n2", 17, ip="192.0.2.2"),
        entry("n3", 18, ip="192.0.2.3"),
        entry("n4", -1, ip="192.0.2.4"),
        entry("n5", 3, clique="rack.1"),
        entry("n6", 4, ip=""),
    ]
    found = peer_names.addresses(daemons, clique_id="rack.0", limit=18)
    assert found == {"compute-domain-daemon-0000": "192.0.2.1", "compute-domain-daemon-0017": "192.0.2.2"}


def test_the_first_node_of_two_with_one_index_has_the_name() -> None:
    daemons = [entry("n2", 1, ip="192.0.2.2"), entry("n1", 1, ip="192.0.2.1")]
    assert peer_names.addresses(daemons, clique_id="rack.0", limit=18) == {"compute-domain-daemon-0001": "192.0.2.1"}


def test_a_hosts_file_that_is_written_twice_is_the_same() -> None:
    text = "127.0.0.1\tlocalhost\n\n# the kubelet's\n10.0.0.1\tpod\n"
    once = peer_names.hosts_text(text, {"compute-domain-daemon-0000": "192.0.2.1"})
    assert once.startswith(text.rstrip())
    assert peer_names.hosts_text(once, {"compute-domain-daemon-0000": "192.0.2.1"}) == once
    assert "192.0.2.1" not in peer_names.hosts_text(once, {})


def test_an_index_is_kept_unless_it_cannot_be() -> None:
    own = {"node": "n2", "ip": "192.0.2.2", "clique_id": "rack.0", "ready": True, "limit": 2}
    index = lambda daemons: next(one["index"] for one in joined(daemons, **own) if one["nodeName"] == "n2")  # type: ignore[arg-type]  # noqa: E731
    assert index([entry("n1", 0), entry("n2", 1)]) == 1
    assert index([entry("n1", 0), entry("n2", 0)]) == 1  # the first by name keeps it
    assert index([entry("n2", 0), entry("n3", 0)]) == 0
    assert index([entry("n1", 0), entry("n2", 2)]) == 1
    assert index([entry("n1", 0), entry("n2", -1)]) == 1


def test_the_template_is_filled_in() -> None:
    text = imex_config.render(imex_config.IMEX_CONFIG, nodes_file="/imexd/nodes.cfg", address="10.0.0.1")
    assert "IMEX_NODE_CONFIG_FILE=/imexd/nodes.cfg\n" in text
    assert "IMEX_CMD_BIND_INTERFACE_IP=10.0.0.1\n" in text
    with pytest.raises(ComponentError, match="unknown field Other"):
        imex_config.render("A={{.Other}}", nodes_file="", address="")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"COMPUTE_DOMAIN_UUID": ""}, "is CDI enabled in the container runtime?"),
        ({"POD_IP": "", "NODE_NAME": ""}, "NODE_NAME, POD_IP not set"),
        ({"MAX_NODES_PER_IMEX_DOMAIN": "many"}, "'many' is not a number of nodes"),
        ({"MAX_NODES_PER_IMEX_DOMAIN": "0"}, "'0' is not a number of nodes"),
    ],
)
def test_variables_that_are_missing_or_invalid_are_named(change: dict[str, str], said: str) -> None:
    with pytest.raises(ComponentError, match=said.replace("?", r"\?")):
        DaemonSettings.read({**POD, **change}, config_dir=Path("/imexd"), hosts_file=Path("/etc/hosts"))


def test_nvidia_imex_is_found_in_path_and_never_replaced_by_the_simulation(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        imex_process.program(imex_process.PROGRAM, simulated=False, environment={"PATH": str(tmp_path)})
    program = tmp_path / "nvidia-imex"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = imex_process.program(imex_process.PROGRAM, simulated=False, environment={"PATH": str(tmp_path)})
    assert found == [str(program)]


@pytest.mark.parametrize(
    ("clique", "script", "code"),
    [
        ("", "exit 1", 0),
        ("rack.0", "echo READY", 0),
        ("rack.0", "echo NOT_READY", 1),
        ("rack.0", "echo warning >&2; echo READY", 1),
        ("rack.0", "echo READY; exit 3", 1),
    ],
)
def test_the_check_is_a_command_without_an_api_server(tmp_path: Path, clique: str, script: str, code: int) -> None:
    control = tmp_path / "nvidia-imex-ctl"
    control.write_text(f"#!/bin/sh\n{script}\n")
    control.chmod(0o755)
    environment = {**os.environ, "CLIQUE_ID": clique, "PATH": f"{tmp_path}:{os.environ['PATH']}", "KUBECONFIG": "/none"}
    done = subprocess.run([*PROGRAM, "check"], env=environment, capture_output=True, check=False)
    assert done.returncode == code, done.stderr


def test_only_its_user_may_read_the_output_of_the_process(tmp_path: Path) -> None:
    program = tmp_path / "nvidia-imex"
    program.write_text("#!/bin/sh\necho secret\nexec sleep 600\n")
    program.chmod(0o755)
    output = tmp_path / "imex.log"
    process = imex_process.ImexProcess(
        tmp_path / "config",
        clock=RealClock(),
        environment={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        output=output,
        simulated=False,
        on_failure=pytest.fail,
    )
    before = os.umask(0)
    try:
        process.start_or_update()
        assert output.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)
        process.stop()
