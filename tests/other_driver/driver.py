"""Changes the reference drivers of this process into ones with other words, formats, names and defaults.

Only what a user or a scenario may not depend on is changed. Names stay: those of fields, devices, gates, flags and
programs, and everything in quotation marks.
"""

from __future__ import annotations

import codecs
import functools
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dra_api.objects import Obj
from dra_api.rpc import ClaimRef, PreparedDevice, PrepareResult
from reference_impl.compute_domain import plugin_command
from reference_impl.compute_domain.plugin import ComputeDomainPlugin, WaitingService
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin import cdi, checkpoint, command, configs
from reference_impl.kubelet_plugin.checkpoint import Checkpoint, ClaimEntry
from reference_impl.kubelet_plugin.claims import ClaimReader, ClaimRefusedError
from reference_impl.kubelet_plugin.limiter import Limiter
from reference_impl.kubelet_plugin.metadata import MetadataFiles
from reference_impl.kubelet_plugin.mps import Mps
from reference_impl.kubelet_plugin.nodelock import NodeLock
from reference_impl.kubelet_plugin.options import FeatureGates, KubeletPluginOptions
from reference_impl.kubelet_plugin.plugin import KubeletPlugin
from reference_impl.kubelet_plugin.service import DriverService

ROOT = Path(__file__).parents[2]

OTHER_DEFAULTS = {
    "NVMLDeviceHealthCheck": False,
    "TimeSlicingSettings": True,
    "MPSSupport": False,
    "ConsumableShares": True,
}
"""Gates that are on by default in one driver and off in the other."""

# -- words -------------------------------------------------------------------------------------------------------------


def _field_names(schema: Mapping[str, object]) -> Iterator[str]:
    for name, content in schema.items():
        yield name
        if isinstance(content, Mapping):
            yield from _field_names(content)


FIELDS = frozenset(name for schema in configs._KINDS.values() for name in _field_names(schema)) | {"kind", "apiVersion"}
# A quoted name, or a word with everything that is attached to it: paths, uids, names of devices and flags.
_TOKEN = re.compile(r"""("[^"]*"|'[^']*'|[^\s,;()]+)""")
_PLAIN = re.compile(r"[a-z]+:?")


def other_words(text: str) -> str:
    """Return a message with its names and without its words, and with lists in another form."""

    def change(found: re.Match[str]) -> str:
        word = found[0]
        if not _PLAIN.fullmatch(word) or word.rstrip(":") in FIELDS:
            return word
        return codecs.encode(word, "rot13")

    return _TOKEN.sub(change, text).replace(", ", " | ")


def _reworded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose errors have other words."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (ComponentError, ClaimRefusedError) as error:
            raise type(error)(other_words(str(error))) from error

    return call


def _answered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method whose result for a claim has other words in its error."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if isinstance(result, str):
            return other_words(result)
        return PrepareResult(error=other_words(result.error)) if result.error else result

    return call


def _reserved_only(original: Callable[..., None]) -> Callable[..., None]:
    """Return a check that also refuses what no kubelet requests: a claim that is not reserved for exactly one pod."""

    @functools.wraps(original)
    def check(self: ClaimReader, reference: ClaimRef, claim: Obj) -> None:
        original(self, reference, claim)
        reserved = claim["status"].get("reservedFor") or []
        if [entry.get("resource") for entry in reserved] != ["pods"]:
            raise ClaimRefusedError(f"claim {reference.namespace}/{reference.name} reserved: {reserved}")

    return check


# -- HAMi-core ---------------------------------------------------------------------------------------------------------

_LIBRARY = "/opt/other/libvgpu.so"
_MEBIBYTES = re.compile(r"=(\d+)m$")
_CACHE = re.compile(r"=\S+/usage\.cache$")

# -- the checkpoint ----------------------------------------------------------------------------------------------------

_MAGIC = b"claims\x00"


def encode(claims: Mapping[str, ClaimEntry], *, boot_id: str) -> bytes:
    """Return a checkpoint that has nothing of the other format but the uids: MessagePack behind a checksum."""
    content = msgspec.msgpack.encode({"boot": boot_id, "claims": [[uid, entry] for uid, entry in claims.items()]})
    return _MAGIC + len(content).to_bytes(4, "big") + sum(content).to_bytes(8, "big") + content


def decode(data: bytes) -> tuple[dict[str, ClaimEntry], str]:
    """Return the claims and the boot id."""
    head, content = data[: len(_MAGIC) + 12], data[len(_MAGIC) + 12 :]
    size, total = int.from_bytes(head[-12:-8], "big"), int.from_bytes(head[-8:], "big")
    if not head.startswith(_MAGIC) or len(content) != size or sum(content) != total:
        raise checkpoint._WrongError("rotten")
    document = msgspec.msgpack.decode(content, type=_Document)
    return dict(document.claims), document.boot


class _Document(msgspec.Struct):
    boot: str
    claims: list[tuple[str, ClaimEntry]]


# -- all of it ---------------------------------------------------------------------------------------------------------


def change() -> None:
    """Change the reference drivers of this process."""
    for holder, name in (
        (KubeletPlugin, "start"),
        (ComputeDomainPlugin, "start"),
        (ClaimReader, "fetch"),
        (command, "plugin_options"),
        (plugin_command, "plugin_options"),
    ):
        setattr(holder, name, _reworded(getattr(holder, name)))
    for holder, name in (
        (DriverService, "prepare_one"),
        (DriverService, "unprepare_one"),
        (WaitingService, "failed"),
    ):
        setattr(holder, name, _answered(getattr(holder, name)))
    checkpoint.encode, checkpoint.decode = encode, decode
    ClaimReader.check_allocated = _reserved_only(ClaimReader.check_allocated)  # type: ignore[method-assign]
    _rename(Checkpoint, lambda path: path.parent / "prepared" / "claims.bin")
    _rename(NodeLock, lambda path: path.with_name("node.lock"))
    _rename(Mps, lambda path: path.parent / "daemons" / "mps")
    _change_names()
    _change_metadata()
    _change_limiter()
    _change_defaults()


def _rename(holder: Any, to: Callable[[Path], Path]) -> None:
    """Let objects of a class use another file."""
    original = holder.__init__

    @functools.wraps(original)
    def init(self: Any, path: Path, **kwargs: Any) -> None:
        original(self, to(path), **kwargs)
        if holder is Checkpoint:
            # The folder of the driver is made at its start, this one with it.
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)

    holder.__init__ = init


def _change_names() -> None:
    def path(self: cdi.CdiFolder, claim_uid: str) -> Path:
        return self.root / f"{self._prefix}{claim_uid}.json"

    def claims(self: cdi.CdiFolder) -> set[str]:
        return {path.name[len(self._prefix) : -len(".json")] for path in self.root.glob(f"{self._prefix}*.json")}

    def prefix(self: cdi.CdiFolder) -> str:
        return f"other-{self.vendor}-{self.cdi_class}-"

    def kind(self: cdi.CdiFolder) -> str:
        return f"other.example.com/{self.vendor.removeprefix('k8s.').partition('.')[0]}-{self.cdi_class}"

    def device_name(self: cdi.CdiFolder, claim_uid: str, device: str) -> str:
        return f"{device}.{claim_uid}"

    for name, new in (("path", path), ("claims", claims), ("device_name", device_name)):
        setattr(cdi.CdiFolder, name, new)
    for name, new in (("_prefix", prefix), ("kind", kind)):
        setattr(cdi.CdiFolder, name, property(new))
    for name, text in (("plugin_socket", "{data}/p{uid}.s"), ("registration_socket", "{registrar}/{driver}.{uid}r")):

        def socket(self: KubeletPluginOptions, text: str = text) -> Path:
            return Path(
                text.format(data=self.data_dir, registrar=self.registrar_dir, driver=self.driver_name, uid=self.pod_uid)
            )

        setattr(KubeletPluginOptions, name, property(socket))


def _change_metadata() -> None:
    """Use other files and ids, and give the id of a request's metadata with its last device."""

    def file(self: MetadataFiles, uid: str, request: str) -> Path:
        return self.folder / uid / "requests" / request / "about"

    def device_name(self: MetadataFiles, uid: str, request: str) -> str:
        return f"{request}.of.{uid}"

    def add_ids(self: MetadataFiles, uid: str, answer: Sequence[PreparedDevice]) -> tuple[PreparedDevice, ...]:
        return tuple(reversed(original(self, uid, tuple(reversed(answer)))))

    def kind(self: MetadataFiles) -> str:
        return f"other.example.com/about-{self.driver.partition('.')[0]}"

    def prefix(self: MetadataFiles) -> str:
        return f"about-{self.driver.partition('.')[0]}_"

    original = MetadataFiles.add_ids
    for name, new in (("file", file), ("device_name", device_name), ("add_ids", add_ids)):
        setattr(MetadataFiles, name, new)
    MetadataFiles.kind, MetadataFiles._prefix = property(kind), property(prefix)  # type: ignore[method-assign,assignment]


def _change_limiter() -> None:
    """Use other folders and units, and load HAMi-core by a variable instead of /etc/ld.so.preload."""

    def claim_folder(self: Limiter, claim_uid: str) -> Path:
        return self.folder / "caches" / f"of-{claim_uid}"

    def sweep(self: Limiter, claims: Collection[str]) -> Iterator[str]:
        for path in sorted(self.folder.glob("caches/of-*")):
            uid = path.name.removeprefix("of-")
            if uid not in claims:
                shutil.rmtree(path, ignore_errors=True)
                yield uid

    def edits(self: Limiter, planned: Obj) -> Obj:
        found = original(self, planned)
        if not found:
            return found
        env = [_MEBIBYTES.sub(lambda limit: f"={int(limit[1]) * 1024}k", one) for one in found["env"]]
        env = [_CACHE.sub("=/var/cache/other/cache.bin", one) for one in env]
        mounts = []
        for mount in found["mounts"]:
            if mount["containerPath"] == "/etc/ld.so.preload":
                continue
            if mount["containerPath"].endswith("/libvgpu.so"):
                mount = {**mount, "containerPath": _LIBRARY}
            elif "/claims/" in mount["containerPath"]:
                mount = {**mount, "containerPath": "/var/cache/other"}
            mounts.append(mount)
        return {**found, "env": [*env, f"LD_PRELOAD={_LIBRARY}"], "mounts": mounts}

    original = Limiter.edits
    for name, new in (("claim_folder", claim_folder), ("sweep", sweep), ("edits", edits)):
        setattr(Limiter, name, new)


def _change_defaults() -> None:
    original = FeatureGates.parse.__func__  # type: ignore[attr-defined]

    def parse(cls: type[FeatureGates], text: str) -> FeatureGates:
        given = {pair.partition("=")[0] for pair in text.split(",")}
        more = [f"{gate}={str(on).lower()}" for gate, on in OTHER_DEFAULTS.items() if gate not in given]
        gates: FeatureGates = original(cls, ",".join([text, *more] if text else more))
        return gates

    FeatureGates.parse = classmethod(parse)  # type: ignore[method-assign,assignment]


def program() -> str:
    """Return the text of a Python program that is the changed driver."""
    return "\n".join(
        (
            "import sys",
            f"sys.path.insert(0, {str(ROOT)!r})",
            "from tests.other_driver.driver import change",
            "change()",
            "from reference_impl.__main__ import main",
            "sys.exit(main())",
        )
    )


def as_command(words: list[str]) -> list[str]:
    """Return the reference driver's command as that of the changed driver."""
    # In the place of the first three words: the interpreter, -m and reference_impl.
    return [sys.executable, "-c", program(), *words[3:]]
