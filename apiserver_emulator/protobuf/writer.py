"""Plain objects to messages, after the field table. Pure functions."""

from __future__ import annotations

import base64
from typing import Any

from apiserver_emulator.protobuf.scalars import SPECIALS
from apiserver_emulator.protobuf.table import Field, Message, message
from apiserver_emulator.protobuf.wire import FIXED64, VARINT, ProtobufError, delimited, tag, write_double, write_varint

Obj = dict[str, Any]

_NUMBERS = frozenset({"int32", "int64", "uint32", "uint64", "bool"})
_UNION_FIELDS = {
    "JSONSchemaPropsOrArray": ((dict, 1), (list, 2)),
    "JSONSchemaPropsOrBool": ((bool, 1), (dict, 2)),
    "JSONSchemaPropsOrStringArray": ((dict, 1), (list, 2)),
}


def write_message(obj: Obj, type_: Message, *, top: bool = False) -> bytes:
    """Encode one object. Raises ProtobufError for a field that the message does not have."""
    unknown = obj.keys() - _names(type_)
    if top:
        unknown -= {"apiVersion", "kind"}
    if unknown:
        raise ProtobufError(f"message {type_.name} has no field named {min(unknown)}")
    return _write(obj, type_)


def _names(type_: Message) -> set[str]:
    found: set[str] = set()
    for field in type_.fields.values():
        found |= _names(message(field.type)) if field.inline else {field.name}
    return found


def _write(obj: Obj, type_: Message) -> bytes:
    out = bytearray()
    for field in type_.fields.values():
        if field.inline:
            out += delimited(field.number, _write(obj, message(field.type)))
            continue
        value = obj.get(field.name)
        if value is None:
            continue
        if field.map:
            for key in sorted(value):
                entry = delimited(1, key.encode()) + _field(value[key], field, number=2)
                out += delimited(field.number, entry)
        elif field.repeated:
            for item in value:
                out += _field(item, field)
        else:
            out += _field(value, field)
    return bytes(out)


def _field(value: Any, field: Field, *, number: int = 0) -> bytes:
    number = number or field.number
    type_ = field.type
    if type_ in _NUMBERS:
        return tag(number, VARINT) + write_varint(int(value))
    if type_ == "double":
        return tag(number, FIXED64) + write_double(float(value))
    if type_ == "string":
        return delimited(number, str(value).encode())
    if type_ == "bytes":
        return delimited(number, base64.b64decode(value))
    special = SPECIALS.get(type_)
    if special is not None:
        return delimited(number, special.encode(value))
    inner = message(type_)
    union = _UNION_FIELDS.get(type_.rpartition(".")[2])
    if union is not None:
        return delimited(number, _union(value, inner, union))
    return delimited(number, write_message(value, inner))


def _union(value: Any, type_: Message, choices: tuple[tuple[type, int], ...]) -> bytes:
    items: Any = value
    for python_type, number in choices:
        if isinstance(value, python_type):
            field = type_.fields[number]
            if field.repeated:
                return b"".join(_field(item, field) for item in items)
            allowed = (
                b"" if python_type is not dict or type_.fields[1].type != "bool" else _field(True, type_.fields[1])
            )
            return allowed + _field(value, field)
    raise ProtobufError(f"{type_.name} cannot hold a {type(value).__name__}")
