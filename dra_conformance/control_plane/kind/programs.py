"""The programs `kind` and `docker`, which make the cluster, and what they need of this machine.

Both are called as programs: kind itself calls `docker`. Every call has a deadline.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dra_conformance.core.errors import TargetUnreachable

KIND, DOCKER = "kind", "docker"
DEFAULT_IMAGE = "kindest/node:v1.37.0"
"""The node image of the kind release in `_INSTALL_KIND`."""

_ANSWERS_WITHIN = 20.0
_STARTS_WITHIN = 60.0
_DISK_ENOUGH = 8 * 2**30
_INOTIFY, _INOTIFY_ENOUGH = Path("/proc/sys/fs/inotify/max_user_instances"), 512
_MORE_INOTIFY = f"`sysctl fs.inotify.max_user_instances={_INOTIFY_ENOUGH}`, as root."
_INSTALL_KIND = "`go install sigs.k8s.io/kind@v0.33.0`, with Go's bin folder in PATH."
_PRIVILEGED = "Nodes of kind need them: a Docker daemon with all capabilities, not in a confined container."
_NO_DOCKER = "`docker info` must work for this user; without Docker, --control-plane binaries needs none."


_GO_STACK = re.compile(r"^\S+\n\t\S+\.(?:go|s):\d+$\n?", re.MULTILINE)
"""A function and its place in the stack of a Go error."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that `--control-plane kind` needs: what was found of it, or what is lacking and the next step."""

    name: str
    found: str = ""
    lacks: str = ""
    way_out: str = ""


def run(words: Sequence[str], *, timeout: float) -> subprocess.CompletedProcess[str]:
    """Run a program and return its exit code and output. Raises TargetUnreachable if it does not end in time.

    A program that does not exist ends with 127, as in a shell.
    """
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False, errors="replace")
    except FileNotFoundError:
        return subprocess.CompletedProcess(words, 127, "", f"{words[0]}: not found")
    except subprocess.TimeoutExpired:
        raise TargetUnreachable(
            f"--control-plane kind: `{' '.join(words[:3])}` did not end within {timeout:.0f} s"
        ) from None


def last_lines(done: subprocess.CompletedProcess[str], count: int = 6) -> str:
    """Return the end of a program's output, without the stacks that kind and kubeadm print after an error."""
    text = _GO_STACK.sub("", f"{done.stdout}\n{done.stderr}".partition("\nStack Trace:")[0])
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-count:])


def requirements(image: str, *, which: Callable[[str], str | None] = shutil.which) -> list[Requirement]:
    """Return what a cluster needs, in the order in which a start would fail. `image`: empty means the default."""
    found = [_kind(which), _docker(which)]
    if not found[-1].lacks:
        found.append(_image(image or DEFAULT_IMAGE))
    return found


def advice(
    image: str = "", *, limit: Path = _INOTIFY, free: Callable[[], int | None] | None = None
) -> list[Requirement]:
    """Return what a cluster may lack that only shows later: inotify instances, free disk, privileged containers.

    Args:
        image: the node image; empty means the default. If Docker has it, a privileged container of it runs `true`.
        limit: the file with the number of inotify instances that a user may have.
        free: returns the free bytes where Docker keeps images and containers, None if that is unknown.
    """
    allowed = _number(limit)
    found = []
    if allowed is not None:
        enough = f"fs.inotify.max_user_instances is {allowed}"
        lacks = "" if allowed >= _INOTIFY_ENOUGH else f"{enough}; kind recommends {_INOTIFY_ENOUGH}"
        found.append(Requirement("inotify instances", found=enough, lacks=lacks, way_out=_MORE_INOTIFY))
    if (there := (free or _free_of_docker)()) is not None:
        size = f"{there / 2**30:.0f} GiB free for Docker"
        lacks = "" if there >= _DISK_ENOUGH else f"{size}; image and cluster take up to {_DISK_ENOUGH / 2**30:.0f} GiB"
        found.append(Requirement("disk", found=size, lacks=lacks, way_out="`docker system prune` frees some."))
    if (allows := _privileged(image or DEFAULT_IMAGE)) is not None:
        found.append(allows)
    return found


def require(image: str) -> None:
    """Raise TargetUnreachable with the first requirement that is lacking."""
    for need in requirements(image):
        if need.lacks:
            raise TargetUnreachable(f"--control-plane kind: {need.lacks}", hint=need.way_out)


def inotify_hint(limit: Path = _INOTIFY) -> str:
    """Return what to raise if the machine allows few inotify instances; empty otherwise.

    All nodes share the limit of the machine. Without an instance a kubelet or a kube-proxy ends.
    """
    allowed = _number(limit)
    if allowed is None or allowed >= _INOTIFY_ENOUGH:
        return ""
    recommended = f"fs.inotify.max_user_instances is {allowed}; kind recommends {_INOTIFY_ENOUGH}"
    return f"If they say 'too many open files': {recommended}."


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _free_of_docker() -> int | None:
    """Return the free bytes of Docker's folder; None without a daemon, or if it is on another machine."""
    done = run([DOCKER, "info", "--format", "{{.DockerRootDir}}"], timeout=_ANSWERS_WITHIN)
    try:
        return shutil.disk_usage(done.stdout.strip()).free if done.returncode == 0 else None
    except OSError:
        return None


def _kind(which: Callable[[str], str | None]) -> Requirement:
    if which(KIND) is None:
        return Requirement(KIND, lacks="the program kind is not in PATH", way_out=_INSTALL_KIND)
    done = run([KIND, "version"], timeout=_ANSWERS_WITHIN)
    if done.returncode != 0:
        return Requirement(KIND, lacks=f"`kind version` fails: {last_lines(done, 1)}", way_out=_INSTALL_KIND)
    return Requirement(KIND, found=done.stdout.strip())


def _docker(which: Callable[[str], str | None]) -> Requirement:
    if which(DOCKER) is None:
        return Requirement(DOCKER, lacks="the program docker is not in PATH", way_out=_NO_DOCKER)
    done = run([DOCKER, "info", "--format", "{{json .}}"], timeout=_ANSWERS_WITHIN)
    try:
        reported = json.loads(done.stdout)
    except ValueError:
        reported = {}
    if done.returncode != 0 or not reported.get("ServerVersion"):
        why = last_lines(done, 1) or "no reason given"
        errors = reported.get("ServerErrors") or [why]
        return Requirement(DOCKER, lacks=f"no Docker daemon answers: {errors[0]}", way_out=_NO_DOCKER)
    release, cgroup, driver = (reported.get(key) or "?" for key in ("ServerVersion", "CgroupVersion", "Driver"))
    return Requirement(DOCKER, found=f"daemon {release}, cgroup v{cgroup}, storage {driver}")


def _image(image: str) -> Requirement:
    """The image is in Docker already, or its name is one that a registry may have."""
    name = "node image"
    if _is_loaded(image):
        return Requirement(name, found=image)
    if image.startswith("kindest/"):
        return Requirement(name, found=f"{image} (not loaded; kind pulls it from its registry)")
    return Requirement(
        name,
        lacks=f"Docker has no image {image}",
        way_out="In a checkout: `make images-node`, then `docker load --input build/images/node.tar`.",
    )


def _is_loaded(image: str) -> bool:
    return run([DOCKER, "image", "inspect", "--format", "{{.Id}}", image], timeout=_ANSWERS_WITHIN).returncode == 0


def _privileged(image: str) -> Requirement | None:
    """Whether Docker runs privileged containers, as nodes are; None if it has no image to try it with."""
    if not _is_loaded(image):
        return None
    once = ["run", "--rm", "--privileged", "--network", "none", "--entrypoint", "/bin/true", image]
    done = run([DOCKER, *once], timeout=_STARTS_WITHIN)
    name = "privileged containers"
    if done.returncode == 0:
        return Requirement(name, found="Docker runs them")
    return Requirement(name, lacks=f"Docker runs none: {last_lines(done, 1)}", way_out=_PRIVILEGED)
