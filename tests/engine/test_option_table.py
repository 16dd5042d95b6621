"""The table of run options: every form of an option gives the same RunOptions, and every check has a test."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.shell_completion import BashComplete
from command_line import SUITE, CommandLine

from dra_conformance import pytest_plugin
from dra_conformance.cli import cli as program
from dra_conformance.cli import option_decorators, run
from dra_conformance.core.configuration import from_mapping, options_of
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.option_checks import CHECKS
from dra_conformance.core.option_table import BY_NAME, GROUPS, OPTIONS, Option, kind_of
from dra_conformance.core.options import RunOptions, Waiver

ROOT = Path(__file__).parents[2]
RUN_OPTIONS = [option for option in OPTIONS if option.in_file]
# Options that some values need beside them.
COMPANIONS = {
    "claim-controller": {"control-plane": "binaries"},
    "kubelet": {"control-plane": "binaries"},
    "bin-dir": {"control-plane": "binaries"},
    "kind-image": {"control-plane": "kind"},
    "kind-workers": {"control-plane": "kind"},
    "kind-load": {"control-plane": "kind"},
    "kind-apply": {"control-plane": "kind"},
    "k3s-image": {"control-plane": "k3s"},
    "node-name": {"driver": "socket:/s"},
    "cdi-root": {"driver": "socket:/s"},
}


class Parser:
    """The part of pytest.Parser that a plugin uses, on argparse as pytest's own."""

    def __init__(self) -> None:
        self.parser = argparse.ArgumentParser()

    def getgroup(self, _name: str, _description: str) -> Parser:
        return self

    def addoption(self, *names: str, **settings: Any) -> None:
        self.parser.add_argument(*names, **settings)


def from_command_line(*words: str) -> RunOptions:
    given = run.command.make_context("run", list(words), **program.context_settings).params
    return options_of({name.replace("_", "-"): value for name, value in given.items()})


def from_pytest(*words: str) -> RunOptions:
    parser = Parser()
    pytest_plugin.pytest_addoption(parser)  # type: ignore[arg-type]
    found = parser.parser.parse_args(["--dra-" + word[2:] if word.startswith("--") else word for word in words])
    return options_of(
        {option.name: getattr(found, pytest_plugin.destination(option)) for option in OPTIONS if option.in_pytest}
    )


def from_file(values: dict[str, Any], path: Path) -> RunOptions:
    path.write_text("".join(f"{key} = {_toml(value)}\n" for key, value in values.items()))
    return options_of({"config": path})


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    return msgspec.json.encode(value).decode()


def value_in_file(option: Option) -> Any:
    match option.type:
        case "flag":
            return True
        case "integer":
            return int(option.example)
        case "number":
            return float(option.example)
        case "yaml":
            return yaml.safe_load(option.example)
    return [option.example] if option.multiple else option.example


@pytest.mark.parametrize("option", RUN_OPTIONS, ids=lambda option: option.name)
def test_command_line_pytest_and_file_accept_every_option(
    option: Option, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    beside = COMPANIONS.get(option.name, {})
    words = [word for name, value in beside.items() for word in (f"--{name}", value)]
    words += [f"--{option.name}", *([] if option.type == "flag" else [option.example])]
    found = from_command_line(*words)
    assert getattr(found, option.attribute) != option.default
    assert from_pytest(*words) == found
    assert from_file({**beside, option.name: value_in_file(option)}, tmp_path / "options.toml") == found


@pytest.mark.parametrize("option", [o for o in RUN_OPTIONS if o.multiple], ids=lambda option: option.name)
def test_a_list_option_is_repeated_or_separated(option: Option) -> None:
    beside = [word for name, value in COMPANIONS.get(option.name, {}).items() for word in (f"--{name}", value)]
    words = [*beside, *[f"--{option.name}", option.example] * 2]
    found = getattr(from_command_line(*words), option.attribute)
    assert found == (option.example, option.example)
    assert getattr(from_pytest(*words), option.attribute) == found
    together = f"{option.example},{option.example}"
    again = getattr(from_command_line(*beside, f"--{option.name}", together), option.attribute)
    assert again == (found if option.separator else (together,))


def test_the_configuration_file_of_pytest_and_of_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "ci.toml"
    path.write_text("seed = 4\nretries = 2\n")
    words = ["--config", str(path), "--seed", "5"]
    assert (from_command_line(*words).seed, from_command_line(*words).retries) == (5, 2)
    assert from_pytest(*words) == from_command_line(*words)


def test_table_and_run_options_agree() -> None:
    """The table has the defaults, RunOptions the types: both have the same options."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(RunOptions)}
    assert sorted(fields) == sorted([*(option.name for option in RUN_OPTIONS), "waivers", "companions"])
    plain = {"text": str, "flag": bool, "integer": int, "number": float}
    for option in RUN_OPTIONS:
        expected: Any = tuple[str, ...] if option.multiple else plain.get(option.type)
        if option.type != "yaml":
            found = fields[option.name].type
            # Features are detected without the option, so an empty list differs from none.
            optional = not option.multiple or option.name == "supported-features"
            assert found in (expected, expected | None if optional else expected), option.name
    assert len(BY_NAME) == len(OPTIONS)


def test_every_row_of_the_table_is_complete() -> None:
    for option in OPTIONS:
        assert option.group in GROUPS
        assert option.help.endswith("."), option.name
        assert option.help[0].isupper()
        assert option.example or option.type == "flag", option.name
        assert option.noun or not option.choices, option.name


def test_pytest_accepts_what_the_command_accepts(cli: CommandLine) -> None:
    own = ["-p", "no:cacheprovider", "--dra-dry-run", "--dra-focus", "^claims/", "--dra-skip", "deleted"]
    code, out, err = cli.run("--pyargs", SUITE, *own, module="pytest")
    assert code == ExitCode.OK, out + err
    assert out.splitlines()[-1].endswith("to run; nothing was started")
    assert out == cli.run("run", "--dry-run", "--focus", "^claims/", "--skip", "deleted")[1]
    assert list(cli.folder.iterdir()) == []


def test_the_plugin_imports_nothing_but_the_table() -> None:
    """Every pytest run of a user imports the plugin."""
    code = (
        "import sys; before = set(sys.modules); import dra_conformance.pytest_plugin;"
        "print(*(name for name in set(sys.modules) - before if name.split('.')[0] not in sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {
        "dra_api",
        "dra_api.releases",
        "dra_conformance",
        "dra_conformance.core",
        "dra_conformance.core.option_table",
        "dra_conformance.pytest_plugin",
    }


# -- checks ------------------------------------------------------------------------------------------------------------

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "component_values_parse": (
        {"control-plane": "minikube"},
        "unknown control plane 'minikube' (choose from embedded, ",
    ),
    "values_are_choices": ({"nvml": "x"}, "unknown NVML library 'x' (choose from fake, real)"),
    "shard_is_one_of_its_number": ({"shard": "4/3"}, "--shard 4/3: the first number must be from 1 to 3"),
    "profiles_exist": ({"profile": ["x"]}, "unknown profile 'x' (choose from driver-core, "),
    "numbers_are_in_range": ({"retries": 101}, "--retries 101: must be from 0 to 100"),
    "patience_is_positive": ({"patience": 0}, "--patience 0.0: must be more than 0 seconds"),
    "release_is_covered": ({"kubernetes-version": "1.33"}, "--kubernetes-version 1.33: not supported"),
    "kubernetes_programs_have_a_real_control_plane": (
        {"scheduler": "kube-scheduler"},
        "--scheduler kube-scheduler: requires --control-plane binaries",
    ),
    "feature_gates_can_be_set": (
        {"control-plane": "kubeconfig", "feature-gates": ["A=true"]},
        "--feature-gates: an existing cluster keeps its own",
    ),
    "api_versions_can_be_set": (
        {"control-plane": "kubeconfig", "runtime-config": ["resource.k8s.io/v1=false"]},
        "--runtime-config: an existing cluster keeps its own",
    ),
    "running_driver_options_have_a_running_driver": ({"cdi-root": "/c"}, "--cdi-root: requires a running driver"),
    "k3s_image_has_k3s": ({"k3s-image": "x"}, "--k3s-image: requires --control-plane k3s"),
    "kind_image_has_kind": ({"kind-image": "x"}, "--kind-image: requires --control-plane kind"),
    "kind_workers_have_kind": ({"kind-workers": 3}, "--kind-workers: requires --control-plane kind"),
    "kind_contents_have_kind": ({"kind-apply": ["x.yaml"]}, "--kind-apply: requires --control-plane kind"),
    "bin_dir_has_binaries": ({"bin-dir": "x"}, "--bin-dir: requires --control-plane binaries"),
    "cluster_components_are_in_the_cluster": (
        {"control-plane": "k3s", "binder": "cluster"},
        "--binder cluster: the k3s cluster has no binder",
    ),
    "watch_lag_has_seconds": ({"watch-lag": "pods=2"}, "--watch-lag pods=2: 2 is not from 0 to 1"),
    "webhook_path_is_a_path": ({"webhook-path": "x"}, "--webhook-path 'x': must be the path of a URL"),
    "patterns_compile": ({"focus": ["("]}, "--focus '(': not a regular expression"),
    "passed_variables_are_names": (
        {"pass-env": ["TOKEN=hunter2"]},
        "--pass-env 'TOKEN': must be the name of an environment variable, without a value",
    ),
    "waivers_have_owner_and_reason": (
        {"waivers": [{"rule": "DRA-001", "owner": "", "reason": "r", "expires": "2026-01-01"}]},
        "waiver of DRA-001: owner and reason must not be empty",
    ),
    "supported_features_exist": ({"supported-features": ["x"]}, "unknown feature 'x'"),
    "companions_have_a_program": (
        {"companions": {"scheduler": {}}},
        "companions.scheduler: requires a program that the run starts",
    ),
    "pods_of_the_scheduler_are_labelled": ({"pod-label": ["x"]}, "--pod-label 'x': must be KEY=VALUE"),
    "declaration_is_consistent": ({"declaration": {"valid": ["x"]}}, "declaration: 'x' is not a YAML mapping"),
}


def test_every_check_has_a_case() -> None:
    assert [check.__name__ for check in CHECKS] == list(WRONG)
    assert all(check.__doc__ for check in CHECKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_check_refuses_its_case_and_accepts_the_defaults(check: Any) -> None:
    check(RunOptions())
    values, message = WRONG[check.__name__]
    with pytest.raises(UsageError) as error:
        check(msgspec.convert(values, RunOptions))
    assert error.value.message.startswith(message)
    with pytest.raises(UsageError):
        from_mapping(values, where="test")


def test_nan_is_out_of_range() -> None:
    with pytest.raises(UsageError, match="--watch-lag nan: nan is not from 0 to 1"):
        from_mapping({"watch-lag": "nan"}, where="test")


def test_a_waiver_names_every_field() -> None:
    assert [field.name for field in msgspec.structs.fields(Waiver)] == ["rule", "owner", "reason", "expires"]


# -- shell completion --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "incomplete", "expected"),
    [
        ("profile", "driver-", ["driver-core", "driver-gpu", "driver-mig"]),
        ("rule", "DRA-258", ["DRA-258"]),
        ("driver", "", ["reference", "exec:", "nvidia", "socket:", "cluster", "none"]),
        ("control-plane", "k", ["kind", "k3s", "kubeconfig"]),
        ("nvml", "r", ["real"]),
        ("inventory", "dgx-h1", ["dgx-h100", "dgx-h100-mig"]),
    ],
)
def test_shell_completion_offers_values(name: str, incomplete: str, expected: list[str]) -> None:
    found = [item.value for item in option_decorators.complete(BY_NAME[name], incomplete)]
    assert found == expected


def test_shell_completion_reads_the_command_line(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_DRA_CONFORMANCE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "dra-conformance run --nvml ")
    monkeypatch.setenv("COMP_CWORD", "3")
    code, out, _ = cli.run()
    assert (code, out) == (0, "plain,fake\nplain,real\n")
    monkeypatch.setenv("COMP_WORDS", "dra-conformance ex")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert cli.run()[1] == "plain,explain\n"
    monkeypatch.setenv("COMP_WORDS", "dra-conformance nonsense ")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert cli.run()[0] == 0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("list --component bi", ["binder"]),
        ("list --component driv", ["driver"]),
        ("list --profile driver-", ["driver-core", "driver-gpu", "driver-mig"]),
        ("list pro", ["profiles"]),
        ("run --profile driver-", ["driver-core", "driver-gpu", "driver-mig"]),
        ("explain DRA-258", ["DRA-258"]),
        ("mutants --rule dra-258", ["DRA-258"]),
        ("ag", ["again"]),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_names_by_the_protocol_of_their_script(
    shell: str, line: str, expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in request_of(shell, f"dra-conformance {line}").items():
        monkeypatch.setenv(name, value)
    assert answers(shell, completed(capsys)) == expected


def request_of(shell: str, line: str) -> dict[str, str]:
    """Return the environment that click's script for a shell sets to complete the last word of a line."""
    words = line.split(" ")
    complete = {"_DRA_CONFORMANCE_COMPLETE": f"{shell}_complete"}
    if shell == "fish":  # (commandline -cp) and (commandline -t)
        return {**complete, "COMP_WORDS": line, "COMP_CWORD": words[-1]}
    return {**complete, "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}


def answers(shell: str, out: str) -> list[str]:
    """Return the values that click's script for a shell reads from the answer."""
    lines = out.splitlines()
    if shell == "zsh":  # type, value and description, a line each
        assert set(lines[::3]) == {"plain"}
        assert len(lines) % 3 == 0
        return lines[1::3]
    found = [line.partition(",") for line in lines]
    assert {kind for kind, _, _ in found} == {"plain"}
    return [value.partition("\t")[0] for _, _, value in found]


def completed(capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        program.main([], prog_name="dra-conformance")
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("shell", "parts"),
    [
        ("bash", ["complete -o nosort -F", "COMP_WORDS", "COMP_CWORD", "_DRA_CONFORMANCE_COMPLETE=bash_complete"]),
        ("zsh", ["#compdef dra-conformance", "COMP_WORDS=", "COMP_CWORD=", "_DRA_CONFORMANCE_COMPLETE=zsh_complete"]),
        ("fish", ["complete --no-files --command dra-conformance", "COMP_WORDS=(commandline -cp)",
                  "COMP_CWORD=(commandline -t)", "_DRA_CONFORMANCE_COMPLETE=fish_complete"]),
    ],
)  # fmt: skip
def test_the_script_of_each_shell_carries_the_completion_protocol(
    shell: str, parts: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(BashComplete, "_check_version", lambda self: None)  # runs bash
    monkeypatch.setenv("_DRA_CONFORMANCE_COMPLETE", f"{shell}_source")
    script = completed(capsys)
    assert [part for part in parts if part not in script] == []
    assert "dra-conformance" in script


_SHELLS = {
    "bash": """
        source script
        COMP_WORDS=($LINE) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _dra_conformance_completion dra-conformance
        printf '%s\\n' "${COMPREPLY[@]}"
    """,
    "fish": "source script; complete -C $LINE | string replace -r '\\t.*' ''; true",
}


@pytest.mark.parametrize("shell", _SHELLS)
def test_a_shell_completes_with_the_script(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    command = tmp_path / "dra-conformance"
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {sys.executable} -m dra_conformance "$@"\n'
    )
    command.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}

    def answer(words: list[str], **more: str) -> str:
        done = subprocess.run(
            words, cwd=tmp_path, env={**environment, **more}, capture_output=True, text=True, check=True, timeout=120
        )
        return done.stdout

    (tmp_path / "script").write_text(answer([str(command)], _DRA_CONFORMANCE_COMPLETE=f"{shell}_source"))
    for line, expected in (("list --component bi", "binder"), ("explain DRA-258", "DRA-258")):
        assert answer([program, "-c", _SHELLS[shell]], LINE=f"dra-conformance {line}").split() == [expected]


def test_a_choice_names_its_kind() -> None:
    assert [kind_of(choice) for choice in ("exec:COMMAND", "kubeconfig[:FILE]", "none")] == [
        "exec",
        "kubeconfig",
        "none",
    ]
