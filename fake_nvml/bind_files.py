"""The files `bind` and `unbind` of a fake node's PCI drivers, as in a real /sys: a write moves a device, or fails.

Each file is a FUSE file system whose root is a plain file. A program in a mount namespace of its own sees them in place
of the plain files of `pci_kernel`, and waits in write(2) until the simulation has applied the write. The mounts end
with the namespace. Only root can make them.

Source: Linux 6.8, include/uapi/linux/fuse.h and Documentation/filesystems/fuse.rst.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import struct
from enum import IntEnum
from pathlib import Path
from typing import Final

from dra_api.threads import started
from fake_nvml import pci_kernel

DEVICE: Final = "/dev/fuse"
OPTIONS: Final = "fd={fd},rootmode=100644,user_id=0,group_id=0,allow_other"
"""The options of mount(2) for one file."""


class _Opcode(IntEnum):
    FORGET, GETATTR, SETATTR, OPEN, READ, WRITE = 2, 3, 4, 14, 15, 16
    RELEASE, FSYNC, FLUSH, INIT, INTERRUPT, DESTROY, BATCH_FORGET = 18, 20, 25, 26, 36, 38, 42


_NO_ANSWER: Final = frozenset({_Opcode.FORGET, _Opcode.INTERRUPT, _Opcode.BATCH_FORGET})
_IN = struct.Struct("<IIQQIIIHH")
_OUT = struct.Struct("<IiQ")
_INIT_OUT = struct.Struct("<IIIIHHIIHHI7I")
_ATTRIBUTES = struct.Struct("<QII6Q10I")
_OPEN_OUT = struct.Struct("<QII")
_WRITE_IN = struct.Struct("<QQIIQII")
_WRITE_OUT = struct.Struct("<II")
_VERSION, _MAX_WRITE, _BUFFER = (7, 31), 1 << 16, 1 << 18
_DIRECT_IO: Final = 1  # each write(2) is one request
_NOT_MOUNTED_MS: Final = 5


def available() -> bool:
    """Return whether this process may make such files."""
    return os.geteuid() == 0 and os.access(DEVICE, os.R_OK | os.W_OK)


class BindFiles:
    """Serves the `bind` and `unbind` files of the /sys of a driver root until `close`."""

    def __init__(self, sys: Path) -> None:
        """Open one connection for each file; `connections` must then be mounted. Raises OSError."""
        self._files: dict[int, Path] = {}
        self._stop, self._stopped = os.pipe2(os.O_CLOEXEC)
        for path in sorted((sys / "bus/pci/drivers").glob("*/*bind")):
            self._files[os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)] = path
        self._thread = started(self._serve, name="bind files")

    @property
    def connections(self) -> dict[int, Path]:
        """The descriptor to mount for each file."""
        return dict(self._files)

    def close(self) -> None:
        """End all connections; a write that waits fails."""
        os.close(self._stopped)
        self._thread.join()
        for descriptor in (self._stop, *self._files):
            os.close(descriptor)

    def _serve(self) -> None:
        poll, stop = select.poll(), select.poll()
        for each in (poll, stop):
            each.register(self._stop, select.POLLIN)
        for descriptor in self._files:
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _event in poll.poll():
                if descriptor == self._stop:
                    return
                try:
                    request = os.read(descriptor, _BUFFER)
                except OSError as error:
                    if error.errno == errno.EPERM:
                        stop.poll(_NOT_MOUNTED_MS)  # poll(2) does not wait for the mount
                    elif error.errno not in (errno.EAGAIN, errno.EINTR, errno.ENOENT):
                        poll.unregister(descriptor)  # ENODEV: the mount is gone
                    continue
                self._reply(descriptor, request)

    def _reply(self, descriptor: int, request: bytes) -> None:
        _length, opcode, unique, *_ = _IN.unpack_from(request)
        if opcode in _NO_ANSWER:
            return
        code, answer = 0, b""
        try:
            answer = self._answer(opcode, request[_IN.size :], self._files[descriptor])
        except OSError as error:
            code = -(error.errno or errno.EIO)
        with contextlib.suppress(OSError):  # the program has ended meanwhile
            os.write(descriptor, _OUT.pack(_OUT.size + len(answer), code, unique) + answer)

    @staticmethod
    def _answer(opcode: int, body: bytes, file: Path) -> bytes:
        """Return the body of an answer. Raises the OSError that the program gets."""
        match opcode:
            case _Opcode.INIT:
                return _INIT_OUT.pack(*_VERSION, 0, 0, 0, 0, _MAX_WRITE, 0, 0, 0, 0, *([0] * 7))
            case _Opcode.GETATTR | _Opcode.SETATTR:  # O_TRUNC sets the size
                return _ATTRIBUTES.pack(0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o100644, 1, 0, 0, 0, 4096, 0)
            case _Opcode.OPEN:
                return _OPEN_OUT.pack(0, _DIRECT_IO, 0)
            case _Opcode.WRITE:
                _, _, size, *_ = _WRITE_IN.unpack_from(body)
                file.write_bytes(body[_WRITE_IN.size :][:size])
                pci_kernel.apply(file)
                return _WRITE_OUT.pack(size, 0)
            case _Opcode.READ | _Opcode.RELEASE | _Opcode.FSYNC | _Opcode.FLUSH | _Opcode.DESTROY:
                return b""
            case _:
                raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
