"""C calls on NVML, written as in a C program: `nvmlDeviceGetMigMode(gpu0, &current, &pending)`.

Feature tables list such calls with the code that each must return. A call can bind names that later calls use; an
argument is one of:

- `gpu0`: the handle of the GPU with this index
- `NULL`, a whole number (decimal or 0x…), or a text in quotes
- `&name`: the address of a 64-bit word, zero before the call; `name` is bound to its value
- `name`: the value of a name that an earlier call or step bound
- `buffer`: the address of 4096 zero bytes
- `{4, 4}`: the address of a structure of unsigned ints with these values
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, field
from typing import Any, Final

from dra_conformance.components.nvml import OK, NvmlLibrary
from dra_conformance.core.errors import SpecificationError

_CALL: Final = re.compile(r"(nvml\w+)\((.*)\)")
_ARGUMENT: Final = re.compile(r'\s*("[^"]*"|\{[^}]*\}|[^,]+?)\s*(?:,|$)')
_GPU: Final = re.compile(r"gpu(\d+)")
_NUMBER: Final = re.compile(r"-?\d+|0x[0-9a-fA-F]+")
_BUFFER: Final = 4096


@dataclass(slots=True)
class CallNames:
    """Names that calls and steps of one scenario have bound: numbers, and handles as numbers."""

    values: dict[str, int] = field(default_factory=dict)

    def bind_handle(self, name: str, handle: Any) -> None:
        """Bind a handle that pynvml returned."""
        self.values[name] = int(ctypes.cast(handle, ctypes.c_void_p).value or 0)


def call(library: NvmlLibrary, names: CallNames, text: str) -> str:
    """Make the call that `text` describes and return its outcome.

    The outcome is the name of the return code without NVML_ERROR_, such as SUCCESS; that of nvmlErrorString is the text
    in quotes. Raises SpecificationError when `text` is not a call of the form above or uses an unbound name.
    """
    found = _CALL.fullmatch(text.strip())
    if found is None:
        raise SpecificationError(f"not an NVML call: {text!r}", hint="Write it as nvmlDeviceGetName(gpu0, buffer, 96).")
    function, inside = found.groups()
    bound: dict[str, ctypes.c_ulonglong] = {}
    arguments = [_argument(library, names, bound, part, text) for part in _ARGUMENT.findall(inside)]
    if function == "nvmlErrorString":
        return f'"{library.error_string(*arguments)}"'
    code = library.call(function, *arguments)
    if code == OK:
        names.values.update({name: word.value for name, word in bound.items()})
    return library.error_name(code)


def _argument(
    library: NvmlLibrary, names: CallNames, bound: dict[str, ctypes.c_ulonglong], part: str, text: str
) -> object:
    if part == "NULL":
        return None
    if part == "buffer":
        return ctypes.create_string_buffer(_BUFFER)
    if part.startswith("&"):
        word = bound[part[1:]] = ctypes.c_ulonglong(0)
        return ctypes.byref(word)
    if part.startswith('"'):
        return ctypes.c_char_p(part.strip('"').encode())
    if part.startswith("{"):
        numbers = [int(number) for number in part.strip("{}").split(",")]
        return (ctypes.c_uint * len(numbers))(*numbers)
    if _NUMBER.fullmatch(part):
        return ctypes.c_ulonglong(int(part, 0))  # integer arguments travel in 64-bit registers, narrower ones too
    if gpu := _GPU.fullmatch(part):
        return library.handle(int(gpu.group(1)))
    if part not in names.values:
        raise SpecificationError(f"{text}: {part!r} is not bound; bound are: {', '.join(names.values) or 'none'}")
    return ctypes.c_ulonglong(names.values[part])
