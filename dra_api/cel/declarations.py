"""Every function of the Kubernetes CEL environment with its overloads, as data.

The tables are read once, when the module is imported, and never change. Names, overload ids and signatures are those
of cel-go 0.26 (common/stdlib, cel/library.go, ext/) and k8s.io/apiserver/pkg/cel/library 0.36. A line reads
``overload_id: [receiver.]function(arguments) -> result``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .types import Kind, Type, list_of, map_of, opaque, optional_of, parse_type, split_types, type_param

__all__ = ["BASE_FUNCTIONS", "INCLUDES", "INCLUDES_1_36", "TYPE_NAMES", "Overload"]


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function; a member overload's first argument is its receiver."""

    id: str
    member: bool
    args: tuple[Type, ...]
    result: Type
    generic: bool


_TABLE: Final = """
conditional: _?_:_(bool, A, A) -> A
logical_and: _&&_(bool, bool) -> bool
logical_or: _||_(bool, bool) -> bool
logical_not: !_(bool) -> bool
not_strictly_false: @not_strictly_false(bool) -> bool
equals: _==_(A, A) -> bool
not_equals: _!=_(A, A) -> bool
add_bytes: _+_(bytes, bytes) -> bytes
add_double: _+_(double, double) -> double
add_duration_duration: _+_(duration, duration) -> duration
add_duration_timestamp: _+_(duration, timestamp) -> timestamp
add_timestamp_duration: _+_(timestamp, duration) -> timestamp
add_int64: _+_(int, int) -> int
add_list: _+_(list(A), list(A)) -> list(A)
add_string: _+_(string, string) -> string
add_uint64: _+_(uint, uint) -> uint
divide_double: _/_(double, double) -> double
divide_int64: _/_(int, int) -> int
divide_uint64: _/_(uint, uint) -> uint
modulo_int64: _%_(int, int) -> int
modulo_uint64: _%_(uint, uint) -> uint
multiply_double: _*_(double, double) -> double
multiply_int64: _*_(int, int) -> int
multiply_uint64: _*_(uint, uint) -> uint
negate_double: -_(double) -> double
negate_int64: -_(int) -> int
subtract_double: _-_(double, double) -> double
subtract_duration_duration: _-_(duration, duration) -> duration
subtract_int64: _-_(int, int) -> int
subtract_timestamp_duration: _-_(timestamp, duration) -> timestamp
subtract_timestamp_timestamp: _-_(timestamp, timestamp) -> duration
subtract_uint64: _-_(uint, uint) -> uint
index_list: _[_](list(A), int) -> A
index_map: _[_](map(A, B), A) -> B
optional_list_index_int: _[_](optional(list(V)), int) -> optional(V)
optional_map_index_value: _[_](optional(map(K, V)), K) -> optional(V)
list_optindex_optional_int: _[?_](list(V), int) -> optional(V)
optional_list_optindex_optional_int: _[?_](optional(list(V)), int) -> optional(V)
map_optindex_optional_value: _[?_](map(K, V), K) -> optional(V)
optional_map_optindex_optional_value: _[?_](optional(map(K, V)), K) -> optional(V)
select_optional_field: _?._(dyn, string) -> optional(V)
in_list: @in(A, list(A)) -> bool
in_map: @in(A, map(A, B)) -> bool
size_bytes: size(bytes) -> int
bytes_size: bytes.size() -> int
size_list: size(list(A)) -> int
list_size: list(A).size() -> int
size_map: size(map(A, B)) -> int
map_size: map(A, B).size() -> int
size_string: size(string) -> int
string_size: string.size() -> int
type: type(A) -> type(A)
bool_to_bool: bool(bool) -> bool
string_to_bool: bool(string) -> bool
bytes_to_bytes: bytes(bytes) -> bytes
string_to_bytes: bytes(string) -> bytes
double_to_double: double(double) -> double
int64_to_double: double(int) -> double
string_to_double: double(string) -> double
uint64_to_double: double(uint) -> double
duration_to_duration: duration(duration) -> duration
int64_to_duration: duration(int) -> duration
string_to_duration: duration(string) -> duration
to_dyn: dyn(A) -> dyn
int64_to_int64: int(int) -> int
double_to_int64: int(double) -> int
duration_to_int64: int(duration) -> int
string_to_int64: int(string) -> int
timestamp_to_int64: int(timestamp) -> int
uint64_to_int64: int(uint) -> int
string_to_string: string(string) -> string
bool_to_string: string(bool) -> string
bytes_to_string: string(bytes) -> string
double_to_string: string(double) -> string
duration_to_string: string(duration) -> string
int64_to_string: string(int) -> string
timestamp_to_string: string(timestamp) -> string
uint64_to_string: string(uint) -> string
timestamp_to_timestamp: timestamp(timestamp) -> timestamp
int64_to_timestamp: timestamp(int) -> timestamp
string_to_timestamp: timestamp(string) -> timestamp
uint64_to_uint64: uint(uint) -> uint
double_to_uint64: uint(double) -> uint
int64_to_uint64: uint(int) -> uint
string_to_uint64: uint(string) -> uint
contains_string: string.contains(string) -> bool
ends_with_string: string.endsWith(string) -> bool
starts_with_string: string.startsWith(string) -> bool
matches: matches(string, string) -> bool
matches_string: string.matches(string) -> bool
timestamp_to_year: timestamp.getFullYear() -> int
timestamp_to_year_with_tz: timestamp.getFullYear(string) -> int
timestamp_to_month: timestamp.getMonth() -> int
timestamp_to_month_with_tz: timestamp.getMonth(string) -> int
timestamp_to_day_of_year: timestamp.getDayOfYear() -> int
timestamp_to_day_of_year_with_tz: timestamp.getDayOfYear(string) -> int
timestamp_to_day_of_month: timestamp.getDayOfMonth() -> int
timestamp_to_day_of_month_with_tz: timestamp.getDayOfMonth(string) -> int
timestamp_to_day_of_month_1_based: timestamp.getDate() -> int
timestamp_to_day_of_month_1_based_with_tz: timestamp.getDate(string) -> int
timestamp_to_day_of_week: timestamp.getDayOfWeek() -> int
timestamp_to_day_of_week_with_tz: timestamp.getDayOfWeek(string) -> int
timestamp_to_hours: timestamp.getHours() -> int
timestamp_to_hours_with_tz: timestamp.getHours(string) -> int
duration_to_hours: duration.getHours() -> int
timestamp_to_minutes: timestamp.getMinutes() -> int
timestamp_to_minutes_with_tz: timestamp.getMinutes(string) -> int
duration_to_minutes: duration.getMinutes() -> int
timestamp_to_seconds: timestamp.getSeconds() -> int
timestamp_to_seconds_tz: timestamp.getSeconds(string) -> int
duration_to_seconds: duration.getSeconds() -> int
timestamp_to_milliseconds: timestamp.getMilliseconds() -> int
timestamp_to_milliseconds_with_tz: timestamp.getMilliseconds(string) -> int
duration_to_milliseconds: duration.getMilliseconds() -> int
optional_of: optional.of(V) -> optional(V)
optional_ofNonZeroValue: optional.ofNonZeroValue(V) -> optional(V)
optional_none: optional.none() -> optional(V)
optional_value: optional(V).value() -> V
optional_hasValue: optional(V).hasValue() -> bool
optional_or_optional: optional(V).or(optional(V)) -> optional(V)
optional_orValue_value: optional(V).orValue(V) -> V
list_last: list(V).last() -> optional(V)
list_first: list(V).first() -> optional(V)
optional_unwrap: optional.unwrap(list(optional(V))) -> list(V)
optional_unwrapOpt: list(optional(V)).unwrapOpt() -> list(V)
string_char_at_int: string.charAt(int) -> string
string_index_of_string: string.indexOf(string) -> int
string_index_of_string_int: string.indexOf(string, int) -> int
list_a_index_of_int: list(A).indexOf(A) -> int
string_last_index_of_string: string.lastIndexOf(string) -> int
string_last_index_of_string_int: string.lastIndexOf(string, int) -> int
list_a_last_index_of_int: list(A).lastIndexOf(A) -> int
string_lower_ascii: string.lowerAscii() -> string
string_upper_ascii: string.upperAscii() -> string
string_replace_string_string: string.replace(string, string) -> string
string_replace_string_string_int: string.replace(string, string, int) -> string
string_split_string: string.split(string) -> list(string)
string_split_string_int: string.split(string, int) -> list(string)
string_substring_int: string.substring(int) -> string
string_substring_int_int: string.substring(int, int) -> string
string_trim: string.trim() -> string
string_format: string.format(list(dyn)) -> string
strings_quote: strings.quote(string) -> string
list_join: list(string).join() -> string
list_join_string: list(string).join(string) -> string
list_slice: list(T).slice(int, int) -> list(T)
list_flatten: list(list(T)).flatten() -> list(T)
list_flatten_int: list(dyn).flatten(int) -> list(dyn)
lists_range: lists.range(int) -> list(int)
list_reverse: list(T).reverse() -> list(T)
list_distinct: list(T).distinct() -> list(T)
list_sets_contains_list: sets.contains(list(T), list(T)) -> bool
list_sets_equivalent_list: sets.equivalent(list(T), list(T)) -> bool
list_sets_intersects_list: sets.intersects(list(T), list(T)) -> bool
cel_@mapInsert_map_key_value: cel.@mapInsert(map(K, V), K, V) -> map(K, V)
cel_@mapInsert_map_map: cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)
string_to_quantity: quantity(string) -> Quantity
is_quantity_string: isQuantity(string) -> bool
quantity_sign: sign(Quantity) -> int
quantity_is_greater_than: Quantity.isGreaterThan(Quantity) -> bool
semver_is_greater_than: Semver.isGreaterThan(Semver) -> bool
quantity_is_less_than: Quantity.isLessThan(Quantity) -> bool
semver_is_less_than: Semver.isLessThan(Semver) -> bool
quantity_compare_to: Quantity.compareTo(Quantity) -> int
semver_compare_to: Semver.compareTo(Semver) -> int
quantity_get_float: Quantity.asApproximateFloat() -> double
quantity_get_int: Quantity.asInteger() -> int
quantity_is_integer: Quantity.isInteger() -> bool
quantity_add: Quantity.add(Quantity) -> Quantity
quantity_add_int: Quantity.add(int) -> Quantity
quantity_sub: Quantity.sub(Quantity) -> Quantity
quantity_sub_int: Quantity.sub(int) -> Quantity
string_to_semver: semver(string) -> Semver
string_bool_to_semver: semver(string, bool) -> Semver
is_semver_string: isSemver(string) -> bool
is_semver_string_bool: isSemver(string, bool) -> bool
semver_major: Semver.major() -> int
semver_minor: Semver.minor() -> int
semver_patch: Semver.patch() -> int
string_to_url: url(string) -> URL
is_url_string: isURL(string) -> bool
url_get_scheme: URL.getScheme() -> string
url_get_host: URL.getHost() -> string
url_get_hostname: URL.getHostname() -> string
url_get_port: URL.getPort() -> string
url_get_escaped_path: URL.getEscapedPath() -> string
url_get_query: URL.getQuery() -> map(string, list(string))
string_find_string: string.find(string) -> string
string_find_all_string: string.findAll(string) -> list(string)
string_find_all_string_int: string.findAll(string, int) -> list(string)
string_to_ip: ip(string) -> IP
cidr_ip: CIDR.ip() -> IP
ip_family: IP.family() -> int
ip_is_canonical: ip.isCanonical(string) -> bool
ip_is_unspecified: IP.isUnspecified() -> bool
ip_is_loopback: IP.isLoopback() -> bool
ip_is_link_local_multicast: IP.isLinkLocalMulticast() -> bool
ip_is_link_local_unicast: IP.isLinkLocalUnicast() -> bool
ip_is_global_unicast: IP.isGlobalUnicast() -> bool
is_ip: isIP(string) -> bool
ip_to_string: string(IP) -> string
string_to_cidr: cidr(string) -> CIDR
cidr_contains_ip_string: CIDR.containsIP(string) -> bool
cidr_contains_ip_ip: CIDR.containsIP(IP) -> bool
cidr_contains_cidr_string: CIDR.containsCIDR(string) -> bool
cidr_contains_cidr: CIDR.containsCIDR(CIDR) -> bool
cidr_prefix_length: CIDR.prefixLength() -> int
cidr_masked: CIDR.masked() -> CIDR
is_cidr: isCIDR(string) -> bool
cidr_to_string: string(CIDR) -> string
format-validate: Format.validate(string) -> optional(list(string))
format-named: format.named(string) -> optional(Format)
"""

FORMAT_NAMES: Final = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
]

_COMPARABLE: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ORDERED: Final = ("int", "uint", "double", "string", "bytes", "timestamp", "duration", "bool")
_CROSS: Final = ("int", "uint", "double")
_ID_NAMES: Final = {"int": "int64", "uint": "uint64"}
_RELATIONS: Final = {
    "_<_": "less",
    "_<=_": "less_equals",
    "_>_": "greater",
    "_>=_": "greater_equals",
}


def _generated() -> list[str]:
    """The overloads that repeat over types."""
    lines = []
    for name in _COMPARABLE:
        full = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}.get(name, name)
        lines += [
            f"list_{name}_is_sorted_bool: list({name}).isSorted() -> bool",
            f"list_{name}_max_{name}: list({name}).max() -> {name}",
            f"list_{name}_min_{name}: list({name}).min() -> {name}",
            f"list_{full}_sort: list({name}).sort() -> list({name})",
            f"list_{full}_sortByAssociatedKeys: list(T).@sortByAssociatedKeys(list({name})) -> list(T)",
        ]
    lines += [f"list_{name}_sum_{name}: list({name}).sum() -> {name}" for name in ("int", "uint", "double", "duration")]
    for function, word in _RELATIONS.items():
        for left in _ORDERED:
            lines.append(f"{word}_{_ID_NAMES.get(left, left)}: {function}({left}, {left}) -> bool")
            if left in _CROSS:
                lines += [
                    f"{word}_{_ID_NAMES.get(left, left)}_{_ID_NAMES.get(right, right)}:"
                    f" {function}({left}, {right}) -> bool"
                    for right in _CROSS
                    if right != left
                ]
    lines += [f"format.{name}: format.{name}() -> Format" for name in FORMAT_NAMES]
    return lines


# The receivers that look like a type followed by a dot but are namespaces of global functions.
_NAMESPACED: Final = frozenset(
    {"optional.of", "optional.ofNonZeroValue", "optional.none", "optional.unwrap", "strings.quote", "lists.range"}
    | {"sets.contains", "sets.equivalent", "sets.intersects", "cel.@mapInsert", "ip.isCanonical", "format.named"}
    | {f"format.{name}" for name in FORMAT_NAMES}
)


def _split_receiver(text: str) -> tuple[str, str]:
    """``list(A).size`` to ("list(A)", "size"); a namespaced or plain function has receiver ""."""
    if text in _NAMESPACED:
        return "", text
    receiver, dot, name = text.rpartition(".")
    return (receiver, name) if dot and name != "_" else ("", text)


def _read(line: str) -> tuple[str, Overload]:
    overload_id, rest = line.split(": ", 1)
    signature, result = rest.rsplit(" -> ", 1)
    opening = _opening(signature)
    receiver, name = _split_receiver(signature[:opening])
    args = tuple(parse_type(part) for part in split_types(signature[opening + 1 : -1]))
    if receiver:
        args = (parse_type(receiver), *args)
    out = parse_type(result)
    return name, Overload(overload_id, bool(receiver), args, out, any(_generic(t) for t in (*args, out)))


def _opening(signature: str) -> int:
    """Where the argument list starts: the parenthesis that the last character closes."""
    depth = 0
    for index in range(len(signature) - 1, -1, -1):
        depth += (signature[index] == ")") - (signature[index] == "(")
        if depth == 0:
            return index
    raise ValueError(f"declaration without arguments: {signature}")


def _generic(type_: Type) -> bool:
    return type_.kind is Kind.PARAM or any(map(_generic, type_.params))


def _load(lines: list[str]) -> dict[str, tuple[Overload, ...]]:
    functions: dict[str, list[Overload]] = {}
    for line in lines:
        name, overload = _read(line)
        functions.setdefault(name, []).append(overload)
    return {name: tuple(overloads) for name, overloads in functions.items()}


BASE_FUNCTIONS: Final = _load([line for line in _TABLE.splitlines() if line] + _generated())
INCLUDES: Final = _load(["list_includes_dyn_dyn: dyn.includes(dyn) -> bool"])
INCLUDES_1_36: Final = _load(["dra_includes_dyn_dyn: dyn.includes(dyn) -> bool"])

TYPE_NAMES: Final[dict[str, Type]] = {
    **{name: parse_type(name) for name in ("bool", "bytes", "double", "int", "string", "uint")},
    "google.protobuf.Duration": parse_type("duration"),
    "google.protobuf.Timestamp": parse_type("timestamp"),
    "list": list_of(type_param("A")),
    "map": map_of(type_param("A"), type_param("B")),
    "null_type": parse_type("null"),
    "net.CIDR": opaque("net.CIDR"),
    "net.IP": opaque("net.IP"),
    "optional_type": optional_of(type_param("V")),
    "type": Type(Kind.TYPE, "type"),
}
