"""Starts a program as another user, or in namespaces with a read-only file system: `isolated_exec.py SPEC COMMAND...`.

SPEC is JSON: with `uid` the program runs as that user. With `hidden` it runs in a user and a mount namespace: these
directories become empty, `owned` directories stay writable, also below hidden ones. With `mounts`, pairs of a source
and a target, a mount namespace shows each source at its target; `view` is an empty directory for a new root, which is
needed if a target is missing in `/`. `fuse` has connections to FUSE servers of the parent, as pairs of an inherited
descriptor and a target; `fuse_options` are the options of these mounts. With `root` the program is root in a further
user namespace: it may mount, and has no more access to files than its user. See user_namespaces(7),
mount_namespaces(7) and mount_setattr(2). The kernel kills the program when its `parent` ends, also if that is killed.

Runs with `python -I -S` as a program of its own and imports nothing but the standard library. A process with threads
cannot enter a user namespace, and subprocess.Popen forks to change the user, which crashes the child of a process that
uses gRPC.

Without `root` the program has no capabilities after exec. In a further namespace of its own it cannot undo the mounts:
the kernel locks mounts that come from a more privileged namespace.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import stat
import sys

_CLONE_NEWUSER, _CLONE_NEWNS = 0x10000000, 0x00020000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_MS_NOSUID, _MS_NODEV = 0x2, 0x4
_SYS_MOUNT_SETATTR = 442  # the same number on all architectures
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MNT_DETACH = 0x2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_RDONLY = 0x1
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
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


def _mount(source: str, target: str, kind: str, flags: int, what: str, options: str = "") -> None:
    words = [text.encode() if text else None for text in (source, target, kind)]
    _done(_libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None), what)


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


def unshare(*, user: bool, root: bool = False) -> None:
    """Enter a mount namespace of private mounts, and a user namespace in which this user keeps its id or is root."""
    uid, gid = os.getuid(), os.getgid()
    what = "user namespace" if user else "mount namespace"
    if user:  # else a process that has changed its user may not write its own maps
        _libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    _done(_libc.unshare(_CLONE_NEWNS | (_CLONE_NEWUSER if user else 0)), what)
    new = (0, 0) if root else (uid, gid)
    maps = (("setgroups", "deny"), ("uid_map", f"{new[0]} {uid} 1"), ("gid_map", f"{new[1]} {gid} 1"))
    for name, text in maps if user else ():
        with open(f"/proc/self/{name}", "wb", buffering=0) as file:
            file.write(text.encode())
    _mount("", "/", "", _MS_REC | _MS_PRIVATE, "private mounts")


def show(mounts: list[list[str]], view: str) -> list[str]:
    """Mount each source at its target, and return the targets without links.

    A parent of missing targets becomes a tmpfs with the same entries. If that is `/`, the tmpfs is mounted on `view`
    and becomes the root of the program. The target of the source `/` must be missing; it becomes a link to that root.
    """
    links = [target for source, target in mounts if source == "/"]
    opened = [
        (os.open(source, os.O_PATH | os.O_CLOEXEC), os.path.realpath(target))
        for source, target in mounts
        if source != "/"
    ]
    old = os.stat("/"), os.open("/", os.O_PATH | os.O_CLOEXEC)
    missing = [target for target in (*links, *(target for _, target in opened)) if not os.path.lexists(target)]
    # The root first: the mounts below it must be in the tree that the program gets.
    for parent in sorted({_existing(target) for target in missing}):
        _copy_entries(parent, view if parent == "/" else parent)
    for target in links:
        # A bind mount would show the root of before, without the mounts at other targets.
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink("/", target)
    for source, target in opened:
        if not os.path.lexists(target):
            _mount_point(source, target)
        _mount(f"/proc/self/fd/{source}", target, "", _MS_BIND | _MS_REC, f"mount at {target}")
    if not os.path.samestat(os.stat("/"), old[0]):
        # Not earlier: the sources are in the old root.
        os.fchdir(old[1])
        _done(_libc.umount2(b".", _MNT_DETACH), "unmount of the old root")
        os.chdir("/")
    return [target for _, target in opened]


def _existing(path: str) -> str:
    """Return the nearest parent that exists."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def _copy_entries(directory: str, place: str) -> None:
    """Mount a tmpfs with the entries of a directory on `place`; for `/`, make it the root."""
    names = sorted(os.listdir(directory))
    entries = [(name, os.open(os.path.join(directory, name), os.O_PATH | os.O_NOFOLLOW)) for name in names]
    _mount("tmpfs", place, "tmpfs", _MS_NOSUID | _MS_NODEV, "tmpfs")
    os.chmod(place, 0o755)  # noqa: S103 - as the directory that it replaces
    for name, entry in entries:
        path = os.path.join(place, name)
        if stat.S_ISLNK(os.fstat(entry).st_mode):
            os.symlink(os.readlink("", dir_fd=entry), path)
        else:
            _mount_point(entry, path)
            _mount(f"/proc/self/fd/{entry}", path, "", _MS_BIND | _MS_REC, f"mount at {path}")
        os.close(entry)
    if directory == "/":
        # Not chroot: the kernel permits no further user namespace below it.
        os.chdir(place)
        _done(_libc.syscall(_SYS_PIVOT_ROOT[os.uname().machine], b".", b"."), "new root")
        os.chdir("/")


def _mount_point(source: int, path: str) -> None:
    """Create a directory or a file, as the source is one."""
    if stat.S_ISDIR(os.fstat(source).st_mode):
        os.makedirs(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))


def make_read_only(hidden: list[str], owned: list[str], shown: list[str]) -> None:
    """Empty the hidden directories, and make everything read-only but the owned directories and the shown sources."""
    # Before they are hidden; a descriptor still leads to the directory afterwards.
    kept = [(path, os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)) for path in owned]
    for path in hidden:
        _mount("tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV, "tmpfs")
    for path, descriptor in kept:
        os.makedirs(path, exist_ok=True)
        _mount(f"/proc/self/fd/{descriptor}", path, "", _MS_BIND, "bind mounts")
    _attributes("/", put=_RDONLY)
    for path in ("/dev", *owned, *shown):  # devices such as /dev/null must stay writable
        _attributes(path, clear=_RDONLY)


def main() -> None:
    """Isolate this process and become the program."""
    spec, command = json.loads(sys.argv[1]), sys.argv[2:]
    if "cgroup" in spec:  # first: the mounts may hide it, and the other user may not write it
        with open(spec["cgroup"], "wb", buffering=0) as file:
            file.write(b"0")
    # Imports `warnings`, which os.execvp needs: the other user may not be able to read Python's library.
    os.get_exec_path()
    mounts, shown = spec.get("mounts", []), []
    if mounts or "hidden" in spec:
        working = os.getcwd()
        unshare(user="hidden" in spec or os.geteuid() != 0)
        if mounts:
            shown = show(mounts, spec["view"])
        for descriptor, target in spec.get("fuse", []):
            options = spec["fuse_options"].format(fd=descriptor)
            _mount("fuse", target, "fuse", _MS_NOSUID | _MS_NODEV, f"FUSE at {target}", options)
            os.close(descriptor)
        if "hidden" in spec:
            make_read_only(spec["hidden"], spec["owned"], shown)
        # The old working directory is on the mount of before.
        os.chdir(working if os.path.isdir(working) else "/")
    if "uid" in spec:
        become(spec["uid"])
    if spec.get("root") and os.geteuid() != 0:
        # The kernel locks the mounts of the namespace before, so the program cannot undo them.
        unshare(user=True, root=True)
    if "uid" in spec or "hidden" in spec:
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
