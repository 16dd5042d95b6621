"""IP addresses, CIDR prefixes and URLs in CEL.

Pure functions over the standard library's parsers, restricted to what Go's net/netip and net/url accept. Source:
k8s.io/apiserver/pkg/cel/library ip.go, cidr.go, urls.go (0.36). Go's parse errors have their general form, not
always the exact text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import SplitResult, unquote_plus, urlsplit

from ..gotext import go_quote
from .errors import CelRuntimeError
from .values import Cidr, Ip, Url, no_overload

__all__ = ["FUNCTIONS", "byte_size", "check_request_uri"]


def _text(value: Any) -> str:
    if value.__class__ is not str:
        raise no_overload()
    return str(value)


def _parse_ip(text: str) -> Ip:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise CelRuntimeError(
            f"IP Address {go_quote(text)} parse error during conversion from string: {_parse_problem(text)}"
        ) from None
    # Python accepts zones and IPv4-mapped addresses, Kubernetes does not (library/ip.go).
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            raise CelRuntimeError(f"IP address {go_quote(text)} with zone value is not allowed")
        if address.ipv4_mapped is not None:
            raise CelRuntimeError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return Ip(address)


def _parse_problem(text: str) -> str:
    """Return why net/netip rejects ``text``; all IPv6 errors have one text."""
    head = f"ParseAddr({go_quote(text)}): "
    dot, colon = text.find("."), text.find(":")
    if dot < 0 or 0 <= colon < dot:
        return head + "unable to parse IP"
    fields = text.split(".")
    for index, field in enumerate(fields):
        if index == 4:
            return head + "IPv4 address too long"
        if not field:
            rest = ".".join(fields[index:])
            return f"{head}IPv4 field must have at least one digit (at {go_quote('.' + rest)})"
        if not (field.isascii() and field.isdigit()):
            bad = next(i for i, ch in enumerate(field) if not (ch.isascii() and ch.isdigit()))
            rest = ".".join([field[bad:], *fields[index + 1 :]])
            return f"{head}unexpected character (at {go_quote(rest)})"
        if len(field) > 1 and field[0] == "0":
            return head + "IPv4 field has octet with leading zero"
        # There is no leading zero, so four digits exceed 255.
        if int(field[:4]) > 255:
            return head + "IPv4 field has value >255"
    return head + ("IPv4 address too short" if len(fields) < 4 else "unable to parse IP")


def _parse_cidr(text: str) -> Cidr:
    # Kubernetes repeats the prefix too: parseCIDR and stringToCIDR both add it.
    prefix = "network address parse error during conversion from string: "
    address, slash, bits = text.rpartition("/")
    problem = ""
    if not slash:
        problem = "no '/'"
    elif not re.fullmatch("0|[1-9][0-9]{0,2}", bits):
        problem = f"bad bits after slash: {go_quote(bits)}"
    elif "%" in address:
        problem = "IPv6 zones cannot be present in a prefix"
    else:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            problem = _parse_problem(address)
        else:
            if int(bits) > (128 if ":" in address else 32):
                problem = "prefix length out of range"
    if problem:
        raise CelRuntimeError(f"{prefix}{prefix}netip.ParsePrefix({go_quote(text)}): {problem}")
    interface = ipaddress.ip_interface(text)
    if isinstance(interface, ipaddress.IPv6Interface) and interface.ip.ipv4_mapped is not None:
        raise CelRuntimeError(f"{prefix}IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return Cidr(interface)


def byte_size(value: Ip | Cidr) -> int:
    """Bytes of an address, or bytes that a prefix spans."""
    if isinstance(value, Ip):
        return 4 if value.address.version == 4 else 16
    return -(-int(value.interface.network.prefixlen) // 8)


def ip(value: Any) -> Ip:
    return _parse_ip(_text(value))


def cidr_ip(value: Any) -> Ip:
    return Ip(_cidr(value).interface.ip)


def is_ip(value: Any) -> bool:
    try:
        _parse_ip(_text(value))
    except CelRuntimeError:
        if value.__class__ is not str:
            raise
        return False
    return True


def is_canonical(value: Any) -> bool:
    return bool(str(_parse_ip(_text(value)).address) == value)


def _ip(value: Any) -> Ip:
    if not isinstance(value, Ip):
        raise no_overload()
    return value


def _cidr(value: Any) -> Cidr:
    if not isinstance(value, Cidr):
        raise no_overload()
    return value


def family(value: Any) -> int:
    return _ip(value).address.version


def is_unspecified(value: Any) -> bool:
    return _ip(value).address.is_unspecified


def is_loopback(value: Any) -> bool:
    return _ip(value).address.is_loopback


def is_link_local_multicast(value: Any) -> bool:
    address = _ip(value).address
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.IPv4Network("224.0.0.0/24")
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02


def is_link_local_unicast(value: Any) -> bool:
    return _ip(value).address.is_link_local


def is_global_unicast(value: Any) -> bool:
    address = _ip(value).address
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address == ipaddress.IPv4Address("255.255.255.255")
    )


def cidr(value: Any) -> Cidr:
    return _parse_cidr(_text(value))


def is_cidr(value: Any) -> bool:
    try:
        _parse_cidr(_text(value))
    except CelRuntimeError:
        if value.__class__ is not str:
            raise
        return False
    return True


def contains_ip(prefix: Any, address: Any) -> bool:
    network = _cidr(prefix).interface.network
    try:
        inner = _parse_ip(address) if address.__class__ is str else _ip(address)
    except CelRuntimeError:
        # Kubernetes returns the parse error in place of the address (cidr.go cidrContainsIPString).
        raise no_overload() from None
    return inner.address.version == network.version and inner.address in network


def contains_cidr(prefix: Any, other: Any) -> bool:
    network = _cidr(prefix).interface.network
    inner = (_parse_cidr(other) if other.__class__ is str else _cidr(other)).interface.network
    if isinstance(network, ipaddress.IPv4Network) and isinstance(inner, ipaddress.IPv4Network):
        return inner.subnet_of(network)
    if isinstance(network, ipaddress.IPv6Network) and isinstance(inner, ipaddress.IPv6Network):
        return inner.subnet_of(network)
    return False


def prefix_length(value: Any) -> int:
    return int(_cidr(value).interface.network.prefixlen)


def masked(value: Any) -> Cidr:
    interface = _cidr(value).interface
    return Cidr(ipaddress.ip_interface(str(interface.network)))


# --- URLs

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")
_HOST_BAD: Final = re.compile(r"[ \"<>\\^`{|}]")
_UNESCAPED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~$&+,/:;=@!'()*[]%")


def _url_problem(text: str, *, fragment: bool) -> str | None:
    """Return the error of Go's url.Parse, or None."""
    if any(ord(ch) < 0x20 or ch == "\x7f" for ch in text):
        return "net/url: invalid control character in URL"
    if fragment:
        text = text.partition("#")[0]
    if not text:
        return "empty url"
    scheme = _SCHEME.match(text)
    if scheme is None and ":" in text.partition("/")[0]:
        return "missing protocol scheme" if text[0] == ":" else "first path segment in URL cannot contain colon"
    rest = text[scheme.end() :] if scheme else text
    if not rest.startswith("/") and (scheme is None or not fragment):
        if scheme is None or not rest:
            return "invalid URI for request" if not rest or scheme is None else None
        return None
    rest = rest.partition("?")[0]
    if rest.startswith("//"):
        authority, _, path = rest[2:].partition("/")
        problem = _authority_problem(authority)
        if problem:
            return problem
    else:
        path = rest
    bad = _BAD_ESCAPE.search(path)
    return f"invalid URL escape {go_quote(bad.group())}" if bad else None


def _authority_problem(authority: str) -> str | None:
    host = authority.rpartition("@")[2]
    if host.startswith("["):
        inner, closing, port = host[1:].partition("]")
        if not closing:
            return "missing ']' in host"
        if port and not re.fullmatch(":[0-9]*", port):
            return f"invalid port {go_quote(port)} after host"
        return None if ":" in inner else "invalid host"
    name, colon, port = host.rpartition(":")
    if colon and not re.fullmatch("[0-9]*", port):
        return f"invalid port {go_quote(':' + port)} after host"
    name = name if colon else host
    bad = _HOST_BAD.search(name)
    if bad:
        return f"invalid character {go_quote(bad.group())} in host name"
    escape = _BAD_ESCAPE.search(name)
    return f"invalid URL escape {go_quote(escape.group())}" if escape else None


def check_request_uri(text: str) -> str | None:
    """Return None if Go's url.ParseRequestURI accepts the text, else its error ``parse "x": ...``."""
    problem = _url_problem(text, fragment=False)
    return f"parse {go_quote(text)}: {problem}" if problem else None


def url(value: Any) -> Url:
    text = _text(value)
    problem = check_request_uri(text)
    if problem:
        raise CelRuntimeError(f"URL parse error during conversion from string: {problem}")
    try:
        return Url(text, urlsplit(text))
    except ValueError as err:
        raise CelRuntimeError(f"URL parse error during conversion from string: {err}") from None


def is_url(value: Any) -> bool:
    return check_request_uri(_text(value)) is None


def _parts(value: Any) -> SplitResult:
    if not isinstance(value, Url):
        raise no_overload()
    return value.parts


def scheme(value: Any) -> str:
    return _parts(value).scheme


def host(value: Any) -> str:
    return _parts(value).netloc.rpartition("@")[2]


def hostname(value: Any) -> str:
    full = host(value)
    if full.startswith("["):
        return full[1:].partition("]")[0]
    name, colon, _ = full.rpartition(":")
    return name if colon else full


def port(value: Any) -> str:
    full = host(value)
    # Colons before the bracket belong to an IPv6 address.
    tail = full.rpartition("]")[2] if full.startswith("[") else full
    return tail.rpartition(":")[2] if ":" in tail else ""


def escaped_path(value: Any) -> str:
    raw = _parts(value).path.encode()
    # The request target of OPTIONS: Go does not escape it (net/url, EscapedPath).
    if raw == b"*":
        return "*"
    return "".join(chr(byte) if byte in _UNESCAPED else f"%{byte:02X}" for byte in raw)


def query(value: Any) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for piece in _parts(value).query.split("&"):
        # Go's URL.Query drops malformed pairs without an error.
        if not piece or ";" in piece or _BAD_ESCAPE.search(piece):
            continue
        key, _, item = piece.partition("=")
        out.setdefault(unquote_plus(key), []).append(unquote_plus(item))
    return out


FUNCTIONS: Final[dict[tuple[str, bool], Callable[..., Any]]] = {
    ("ip", False): ip,
    ("ip", True): cidr_ip,
    ("isIP", False): is_ip,
    ("ip.isCanonical", False): is_canonical,
    ("family", True): family,
    ("isUnspecified", True): is_unspecified,
    ("isLoopback", True): is_loopback,
    ("isLinkLocalMulticast", True): is_link_local_multicast,
    ("isLinkLocalUnicast", True): is_link_local_unicast,
    ("isGlobalUnicast", True): is_global_unicast,
    ("cidr", False): cidr,
    ("isCIDR", False): is_cidr,
    ("containsIP", True): contains_ip,
    ("containsCIDR", True): contains_cidr,
    ("prefixLength", True): prefix_length,
    ("masked", True): masked,
    ("url", False): url,
    ("isURL", False): is_url,
    ("getScheme", True): scheme,
    ("getHost", True): host,
    ("getHostname", True): hostname,
    ("getPort", True): port,
    ("getEscapedPath", True): escaped_path,
    ("getQuery", True): query,
}
