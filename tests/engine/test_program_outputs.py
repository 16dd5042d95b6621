"""Which programs' output a failure quotes."""

from __future__ import annotations

from pathlib import Path

from dra_conformance.core.process import ManagedProcess
from dra_conformance.engine.program_outputs import outputs


def program(folder: Path, name: str, text: str = "") -> ManagedProcess:
    log = folder / "logs" / f"{name.replace(' ', '-')}.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text(text)
    return ManagedProcess(name, ["true"], log_path=log)


def test_a_failure_quotes_the_programs_of_its_component(tmp_path: Path) -> None:
    tested = [("driver", program(tmp_path, "driver on n1", "one\n")), ("binder", program(tmp_path, "binder"))]
    daemon = ("compute-domain-daemon", program(tmp_path, "daemon-7", "no nodes\n"))
    own = [
        ("control-plane", program(tmp_path, "kube-apiserver", "E1127 bad\n")),
        ("kubelet", program(tmp_path, "kubelet")),
    ]

    def quoted(*components: str) -> list[str]:
        return [one.program for one in outputs([*tested, daemon], own, components=components, folder=tmp_path)]

    assert quoted("driver") == ["driver on n1"]
    assert quoted("compute-domain-daemon") == ["daemon-7"]
    assert quoted("control-plane") == ["kube-apiserver"]
    assert quoted("driver", "kubelet") == ["driver on n1", "kubelet"]
    # Kubernetes' own programs say nothing about a component that has no program.
    assert quoted("nvml") == quoted() == ["driver on n1", "binder", "daemon-7"]


def test_the_quoted_lines_name_their_file(tmp_path: Path) -> None:
    own = [("control-plane", program(tmp_path, "kube-apiserver", "E1127 bad\n"))]
    (one,) = outputs([], own, components=["control-plane"], folder=tmp_path)
    assert (one.file, one.lines) == ("logs/kube-apiserver.log", ("E1127 bad",))
