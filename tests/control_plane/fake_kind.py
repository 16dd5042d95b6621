"""Programs in the place of `kind` and `docker`: they log their calls, and the cluster is another server.

Called as `fake_kind.py FOLDER PROGRAM WORDS...`. Files in FOLDER change what happens: `fail.<PROGRAM>.<WORD>` has the
message and lets the calls with that first word fail, `fail.docker.kubectl.<WORD>` those of kubectl in a node; `network`
is there while Docker has a network `kind`. Each line of `attached` is a container for which Docker refuses once to
remove it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(folder: Path, program: str, words: list[str]) -> int:
    """Do what the program would do, as far as the control plane can see it."""
    with (folder / "calls").open("a") as log:
        print(json.dumps([program, *words]), file=log)
    names = [words[0], *([f"kubectl.{words[3]}"] if words[2:3] == ["kubectl"] else [])]
    for failing in (folder / f"fail.{program}.{name}" for name in names):
        if failing.exists():
            print(failing.read_text(), file=sys.stderr)
            return 1
    if program == "kind":
        return _kind(folder, words)
    return _docker(folder, words)


def _kind(folder: Path, words: list[str]) -> int:
    match words[:2]:
        case ["version", *_]:
            print("kind v0.33.0 go1.26 linux/amd64")
        case ["create", _]:
            (folder / "network").touch()
            (folder / "config").write_bytes(Path(_after(words, "--config")).read_bytes())
            Path(_after(words, "--kubeconfig")).write_bytes((folder / "kubeconfig").read_bytes())
            (folder / "cluster").write_text(_after(words, "--name"))
        case ["export", "logs"]:
            Path(words[2], "kubelet.log").write_text("kubelet")
        case ["delete", _]:
            (folder / "cluster").unlink(missing_ok=True)
    return 0


def _docker(folder: Path, words: list[str]) -> int:
    attached = (folder / "attached").read_text().splitlines() if (folder / "attached").exists() else []
    if words[0] == "info":
        print(json.dumps({"ServerVersion": "29.0", "CgroupVersion": "2", "Driver": "overlay2"}))
    elif words[:2] == ["network", "inspect"]:
        if "--format" in words and attached:
            print(attached[0])
        return 0 if (folder / "network").exists() else 1
    elif words[:2] == ["network", "rm"]:
        if attached:
            (folder / "attached").write_text("".join(f"{name}\n" for name in attached[1:]))
            return 1
        (folder / "network").unlink()
    return 0


def _after(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
