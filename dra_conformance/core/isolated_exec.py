"""Starts a program as another user, or in namespaces with a read-only file system: `isolated_exec.py SPEC COMMAND...`.

SPEC is JSON: with `uid` the program runs as that user. Without, it runs in a user and a mount namespace: `hidden`
directories become empty, `owned` directories stay writable, also below hidden ones. See user_namespaces(7),
mount_namespaces(7) and mount_setattr(2). The kernel kills the program when its `parent` ends, also if that is killed.

Runs with `python -I -S` as a program of its own and imports nothing but the standard library. A process with threads
cannot enter a user namespace, and subprocess.Popen forks to change the user, which crashes the child of a process that
uses gRPC.

The program has no capabilities after exec, because it is not root in the namespace. In a further namespace of its own
it cannot undo the mounts: the kernel locks mounts that come from a more privileged namespace.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys

_CLONE_NEWUSER, _CLONE_NEWNS = 0x10000000, 0x00020000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_MS_NOSUID, _MS_NODEV = 0x2, 0x4
_SYS_MOUNT_SETATTR = 442  # the same number on all architectures
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_RDONLY = 0x1
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns", ctypes.c_uint64),
    )


def _done(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        sys.exit(f"the kernel permits no {what}: {os.strerror(code)}")


def _mount(source: str, target: str, kind: str, flags: int, what: str) -> None:
    words = [text.encode() if text else None for text in (source, target, kind)]
    _done(_libc.mount(*words, ctypes.c_ulong(flags), None), what)


def _attributes(path: str, *, put: int = 0, clear: int = 0) -> None:
    attributes = _MountAttributes(put, clear, 0, 0)
    result = _libc.syscall(
        _SYS_MOUNT_SETATTR,
        _AT_FDCWD,
        path.encode(),
        _AT_RECURSIVE,
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    _done(result, "read-only mounts")


def become(uid: int) -> None:
    """Become another user for good."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def enter(hidden: list[str], owned: list[str]) -> None:
    """Enter the namespaces and change the mounts."""
    uid, gid = os.getuid(), os.getgid()
    _done(_libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS), "user namespace")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "wb", buffering=0) as file:
            file.write(text.encode())
    _mount("", "/", "", _MS_REC | _MS_PRIVATE, "private mounts")
    # Before they are hidden; a descriptor still leads to the directory afterwards.
    kept = [(path, os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)) for path in owned]
    working = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for path in hidden:
        _mount("tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV, "tmpfs")
    for path, descriptor in kept:
        os.makedirs(path, exist_ok=True)
        _mount(f"/proc/self/fd/{descriptor}", path, "", _MS_BIND, "bind mounts")
    _attributes("/", put=_RDONLY)
    for path in ("/dev", *owned):  # devices such as /dev/null must stay writable
        _attributes(path, clear=_RDONLY)
    # The old working directory is on the mount of before.
    where = os.readlink(f"/proc/self/fd/{working}")
    os.chdir(where if os.path.isdir(where) else "/")


def main() -> None:
    """Isolate this process and become the program."""
    spec, command = json.loads(sys.argv[1]), sys.argv[2:]
    # Imports `warnings`, which os.execvp needs: the other user may not be able to read Python's library.
    os.get_exec_path()
    if "uid" in spec:
        become(spec["uid"])
    else:
        enter(spec["hidden"], spec["owned"])
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)  # no program with the setuid bit leads back
    # After the change of the user, which resets it. The signal comes when the thread that started this process ends:
    # the main thread of the harness, which runs the steps.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != spec["parent"]:
        sys.exit("the parent has ended")
    try:
        os.execvp(command[0], command)  # noqa: S606 - the program under test, as the user wrote it
    except OSError as error:
        sys.exit(f"cannot start {command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
