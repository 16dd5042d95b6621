"""Image archives, and the start of each component in the image if Docker and the archive are there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from deploy.images import archive, components, node
from deploy.manifests import render
from reference_impl.compute_domain import objects
from reference_impl.runtime import COMMANDS

ARCHIVE = Path(__file__).parents[2] / "build/images/components.tar"


def content(made: tarfile.TarFile, name: str) -> bytes:
    found = made.extractfile(name)
    assert found is not None
    return found.read()


def layer(path: Path, *names: str) -> Path:
    with archive.Layer(path) as made:
        for name in names:
            made.text(name, f"content of {name}")
    return path


def test_an_archive_names_its_layers_by_their_content(tmp_path: Path) -> None:
    layers = [layer(tmp_path / "a.tar", "a"), layer(tmp_path / "b.tar", "b", "c")]
    image = archive.Image(tags=["one:1", "two:1"], entrypoint=["/run"], user="7:7", environment={"A": "b"})
    archive.write(tmp_path / "image.tar", image, layers)
    with tarfile.open(tmp_path / "image.tar") as made:
        (entry,) = json.loads(content(made, "manifest.json"))
        config = content(made, entry["Config"])
        stored = [content(made, name) for name in entry["Layers"]]
    assert entry["RepoTags"] == ["one:1", "two:1"]
    assert stored == [path.read_bytes() for path in layers]
    document = json.loads(config)
    assert entry["Config"] == f"{hashlib.sha256(config).hexdigest()}.json"
    assert document["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(data).hexdigest()}" for data in stored]
    assert document["config"] == {"Entrypoint": ["/run"], "Env": ["A=b"], "User": "7:7"}


def test_the_same_files_give_the_same_archive(tmp_path: Path) -> None:
    for name in ("first", "second"):
        archive.write(tmp_path / name, archive.Image(tags=["x:1"]), [layer(tmp_path / f"{name}.tar", "a")])
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_a_tree_leaves_out_what_another_entry_replaces(tmp_path: Path) -> None:
    source = tmp_path / "etc"
    (source / "sub").mkdir(parents=True)
    (source / "sub/kept").write_text("1")
    (source / "sub/replaced").write_text("1")
    (source / "link").symlink_to("sub/kept")
    with archive.Layer(tmp_path / "layer.tar") as made:
        made.tree("etc", source, besides=("etc/sub/replaced",))
        made.text("etc/sub/replaced", "2")
    with tarfile.open(tmp_path / "layer.tar") as stored:
        assert sorted(stored.getnames()) == ["etc/link", "etc/sub", "etc/sub/kept", "etc/sub/replaced"]
        assert content(stored, "etc/sub/replaced") == b"2"


def test_the_node_image_needs_its_programs(tmp_path: Path) -> None:
    with pytest.raises(node.NodeImageError, match=r"not built: control-plane, kind-node, .*make third-party-node"):
        node.write(tmp_path / "node.tar", bin_dir=tmp_path)


def test_the_image_has_the_program_of_daemon_pods(tmp_path: Path) -> None:
    """A DaemonSet names the program without a path, and replaces the entrypoint of the image."""
    template = objects.daemon_set({"metadata": {"uid": "u"}}, "ns", settings=objects.DaemonSettings(image="i"))["spec"][
        "template"
    ]["spec"]
    (container,) = template["containers"]
    found = Path("/", components.DAEMON)
    assert {container["command"][0], container["startupProbe"]["exec"]["command"][0]} == {found.name}
    assert str(found.parent) in components.image().environment["PATH"].split(":")
    # The hosts file of a pod belongs to root, and the image has another user.
    assert container["securityContext"] == {"runAsUser": 0}
    program = tmp_path / found.name
    program.write_text(components.DAEMON_PROGRAM)
    words = [sys.executable, str(program), *container["startupProbe"]["exec"]["command"][1:]]
    environment = {**os.environ, "PYTHONPATH": str(ARCHIVE.parents[2])}
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, env=environment)
    assert (done.returncode, done.stdout) == (0, "ready\n"), done.stderr  # a node without a clique


def test_manifests_start_daemons_from_the_image() -> None:
    (arguments,) = [
        one["spec"]["template"]["spec"]["containers"][0]["args"]
        for one in render.compute_domains()
        if one["kind"] == "Deployment"
    ]
    assert arguments[arguments.index("--image-name") + 1] in components.image().tags


def docker(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def loaded() -> str:
    """The image in Docker; it is built by `make images`, which needs a mirror of Debian."""
    if shutil.which("docker") is None or docker("info").returncode != 0:
        pytest.skip("no Docker engine answers: the image is not started")
    if not ARCHIVE.is_file():
        pytest.skip(f"there is no {ARCHIVE} (make images)")
    done = docker("load", "--input", str(ARCHIVE))
    assert done.returncode == 0, done.stderr
    return components.image().tags[0]


@pytest.mark.parametrize("component", sorted(COMMANDS))
def test_each_component_starts_in_the_image(component: str, loaded: str) -> None:
    locked = ["--read-only", "--cap-drop", "ALL", "--network", "none"]
    done = docker("run", "--rm", *locked, loaded, "reference_impl", component, "--help")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"usage: python -m reference_impl {component}")


@pytest.mark.parametrize("part", ["^claims/api_templates", "^driver/gpu_(sharing|mps)"])
def test_the_harness_judges_the_reference_in_the_image(part: str, loaded: str) -> None:
    """The second part starts simulated nvidia-smi and MPS programs, which are shell scripts."""
    writable = "/tmp"  # noqa: S108 - inside the container
    locked = ["--read-only", "--cap-drop", "ALL", "--network", "none", "--tmpfs", f"{writable}:exec"]
    words = ["dra_conformance", "run", "--focus", part, "--out", f"{writable}/report"]
    done = docker("run", "--rm", *locked, loaded, *words, "--progress", "none")
    assert done.returncode == 0, done.stdout + done.stderr
