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
