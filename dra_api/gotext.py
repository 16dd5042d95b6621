"""Text as Go prints it, for messages that must equal a real API server's. Pure functions."""

from __future__ import annotations

from typing import Any

# The escapes that Go's strconv.Quote and CEL's strings.quote have in common.
ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def go_quote(text: str) -> str:
    """strconv.Quote: a double-quoted Go string literal."""
    out: list[str] = []
    for char in text:
        if char in ESCAPES:
            out.append(ESCAPES[char])
        elif char.isprintable():
            out.append(char)
        elif ord(char) < 0x80:
            out.append(f"\\x{ord(char):02x}")
        elif ord(char) < 0x10000:
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(f"\\U{ord(char):08x}")
    return '"' + "".join(out) + '"'


def go_value(value: Any) -> str:
    """A JSON value as Go's %#v prints what it was decoded to."""
    if isinstance(value, dict):
        inner = ", ".join(f"{go_quote(name)}:{go_value(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(go_value(item) for item in value)}}}"
    if value is None or isinstance(value, bool):
        return {None: "interface {}(nil)", True: "true", False: "false"}[value]
    return go_quote(value) if isinstance(value, str) else str(value)


def go_plain(value: Any) -> str:
    """A JSON value as Go's %v prints what it was decoded to."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{go_plain(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(go_plain(item) for item in value)}]"
    if value is None or isinstance(value, bool):
        return {None: "<nil>", True: "true", False: "false"}[value]
    return str(value)


def go_type_name(value: Any) -> str:
    """The Go type that a JSON value is decoded to, as reflect prints it."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    return {str: "string", int: "int64", float: "float64", dict: "map[string]interface {}", list: "[]interface {}"}[
        type(value)
    ]
