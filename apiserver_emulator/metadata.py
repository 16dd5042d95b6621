"""Rules of metadata that all kinds share: names, labels, immutable fields, generated names.

Pure functions over objects. Source: k8s.io/apimachinery pkg/api/validation/objectmeta.go and
k8s.io/apiserver pkg/registry/rest/{create,update}.go.
"""

from __future__ import annotations

import re
from typing import Any

from dra_api.status import FieldError, bad_request, forbidden_field, invalid, required

Obj = dict[str, Any]

SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
QUALIFIED_NAME = re.compile(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
LABEL_VALUE = re.compile(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")

SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

# Names of these may hold anything but a path separator (path segment validation).
_FREE_NAMES = frozenset({"rbac.authorization.k8s.io", "events.k8s.io"})
_LABEL_NAMES = frozenset({("", "namespaces"), ("", "services")})
ANNOTATION_LIMIT = 256 * 1024


def too_long_text(limit: int) -> str:
    """The text of a label's part that is too long."""
    return f"must be no more than {limit} {'byte' if limit == 1 else 'bytes'}"


def too_long_name(limit: int) -> str:
    """The text of a DNS name that is too long: it counts characters, that of labels bytes."""
    return f"must be no more than {limit} characters"


def name_errors(group: str, plural: str, name: str, field: str) -> list[FieldError]:
    """Return the errors in an object's name."""
    if group in _FREE_NAMES or (group, plural) == ("", "events"):
        problems = []
        if name in (".", ".."):
            problems.append(invalid(field, name, f"may not be '{name}'"))
        problems += [invalid(field, name, f"may not contain '{char}'") for char in "/%" if char in name]
        return problems
    if (group, plural) in _LABEL_NAMES:
        if plural == "namespaces" and "." in name:
            return [invalid(field, name, "must not contain dots")]
        if len(name) > 63:
            return [invalid(field, name, too_long_name(63))]
        return [] if LABEL.match(name) else [invalid(field, name, LABEL_TEXT)]
    if len(name) > 253:
        return [invalid(field, name, too_long_name(253))]
    return [] if SUBDOMAIN.match(name) else [invalid(field, name, SUBDOMAIN_TEXT)]


def qualified_name_problems(key: str) -> list[str]:
    """Return the errors in a label key, an annotation key or another qualified name."""
    prefix, slash, name = key.rpartition("/")
    problems: list[str] = []
    if slash and "/" in prefix:
        return [
            "a valid label key "
            + QUALIFIED_TEXT.removeprefix("name part ")
            + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash and not SUBDOMAIN.match(prefix):
        problems.append("prefix part " + SUBDOMAIN_TEXT)
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part " + too_long_text(63))
    # Also for an empty name: upstream reports both problems.
    if not QUALIFIED_NAME.match(name):
        problems.append(QUALIFIED_TEXT)
    return problems


def label_errors(labels: Obj | None, field: str) -> list[FieldError]:
    """Return the errors in labels."""
    problems: list[FieldError] = []
    for key, value in (labels or {}).items():
        problems += [invalid(field, key, text) for text in qualified_name_problems(key)]
        if len(value) > 63:
            problems.append(invalid(field, value, too_long_text(63)))
        if not LABEL_VALUE.match(value):
            problems.append(invalid(field, value, VALUE_TEXT))
    return problems


def validate_metadata(meta: Obj, *, group: str, plural: str, namespaced: bool, minor: int) -> list[FieldError]:
    """ValidateObjectMeta of a new object; `minor` is the emulated release."""
    problems: list[FieldError] = []
    generate = meta.get("generateName", "")
    if generate:
        # A suffix follows: a trailing dash or dot is valid in a prefix. The error shows the prefix as sent.
        masked = generate[:-1] + "a" if generate.endswith(("-", ".")) else generate
        problems += [
            FieldError(e.reason, e.field, e.detail, generate)
            for e in name_errors(group, plural, masked, "metadata.generateName")
        ]
    name = meta.get("name", "")
    if not name:
        problems.append(required("metadata.name", "name or generateName is required"))
    else:
        problems += name_errors(group, plural, name, "metadata.name")
    namespace = meta.get("namespace", "")
    if namespaced and namespace and not LABEL.match(namespace):
        problems.append(invalid("metadata.namespace", namespace, LABEL_TEXT))
    problems += label_errors(meta.get("labels"), "metadata.labels")
    problems += _annotations(meta.get("annotations"))
    problems += _owners(meta.get("ownerReferences"), minor)
    problems += _finalizers(meta.get("finalizers"))
    return problems


_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


def _finalizers(finalizers: list[str] | None) -> list[FieldError]:
    """ValidateFinalizers and the stricter rule of k8s.io/kubernetes pkg/apis/core/validation: names have a domain."""
    problems: list[FieldError] = []
    for index, finalizer in enumerate(finalizers or ()):
        problems += [invalid("metadata.finalizers", finalizer, text) for text in qualified_name_problems(finalizer)]
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            problems.append(invalid(f"metadata.finalizers[{index}]", finalizer, detail))
    if finalizers and "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        problems.append(invalid("metadata.finalizers", finalizers, detail))
    return problems


def _annotations(annotations: Obj | None) -> list[FieldError]:
    problems: list[FieldError] = []
    total = 0
    for key, value in (annotations or {}).items():
        # Case does not matter in the keys of annotations, unlike in those of labels.
        problems += [invalid("metadata.annotations", key, text) for text in qualified_name_problems(key.lower())]
        total += len(key.encode()) + len(value.encode())
    if total > ANNOTATION_LIMIT:
        problems.append(
            FieldError("FieldValueTooLong", "metadata.annotations", f"may not be more than {ANNOTATION_LIMIT} bytes")
        )
    return problems


def _owners(owners: list[Obj] | None, minor: int) -> list[FieldError]:
    problems: list[FieldError] = []
    controllers: list[str] = []
    for index, owner in enumerate(owners or ()):
        # Before 1.37 the fields of errors have no index.
        field = f"metadata.ownerReferences[{index}]" if minor >= 37 else "metadata.ownerReferences"
        problems += _owner(owner, field) if minor >= 37 else _old_owner(owner, field)
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            problems.append(invalid(field, owner, "/v1, Kind=Event is disallowed from being an owner"))
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind', '')}/{owner.get('name', '')}")
    if len(controllers) > 1:
        problems.append(
            invalid(
                "metadata.ownerReferences",
                owners,
                'Only one reference can have Controller set to true. Found "true" in references for '
                f"{controllers[0]} and {controllers[1]}",
            )
        )
    return problems


def _owner(owner: Obj, field: str) -> list[FieldError]:
    empty = {key for key in ("apiVersion", "kind", "name", "uid") if not owner.get(key)}
    problems = [required(f"{field}.{key}", "must not be empty") for key in sorted(empty)]
    version = str(owner.get("apiVersion", ""))
    if version and (version.count("/") > 1 or version.endswith("/")):
        problems.append(invalid(f"{field}.apiVersion", version, "must be <group>/<version> or <version>"))
    return problems


def _old_owner(owner: Obj, field: str) -> list[FieldError]:
    """As up to 1.36."""
    problems: list[FieldError] = []
    for key, text in (("apiVersion", "version must not be empty"), ("kind", "must not be empty"),
                      ("name", "must not be empty"), ("uid", "must not be empty")):  # fmt: skip
        if not owner.get(key):
            problems.append(invalid(f"{field}.{key}", owner.get(key, ""), text))
    if str(owner.get("apiVersion", "")).count("/") > 1:
        problems.append(invalid(f"{field}.apiVersion", owner["apiVersion"], "version must not be empty"))
    return problems


def normalize_lists(meta: Obj) -> None:
    """Drop empty lists and maps and replace null entries of lists by empty ones, as Go's JSON library does."""
    for name, empty in (("finalizers", ""), ("ownerReferences", {})):
        if None in (meta.get(name) or ()):
            meta[name] = [empty if entry is None else entry for entry in meta[name]]
    for name in ("finalizers", "ownerReferences", "labels", "annotations"):
        if name in meta and not meta[name]:
            del meta[name]


def twice_owned(meta: Obj, *, when: str = "") -> str:
    """Remove duplicate owner references; return the warning, empty without duplicates.

    Source: dedupOwnerReferencesAndAddWarning.
    """
    owners = meta.get("ownerReferences") or []
    kept: list[Obj] = []
    for owner in owners:
        if owner not in kept:
            kept.append(owner)
    if len(kept) == len(owners):
        return ""
    meta["ownerReferences"] = kept
    uids = dict.fromkeys(str(owner.get("uid", "")) for owner in owners if owners.count(owner) > 1)
    return (
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and "
        "may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
        + ", ".join(uids)
    )


_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def carry_over_metadata(new: Obj, old: Obj) -> None:
    """Restore the system fields that a client may omit in an update (BeforeUpdate)."""
    for key in ("uid", "creationTimestamp", "generation"):
        # A different uid is kept and refused as immutable; the other two are always the server's.
        if key in old and (not new.get(key) or key != "uid"):
            new[key] = old[key]
        elif key not in old:
            new.pop(key, None)
    if "deletionTimestamp" in old:
        new["deletionTimestamp"] = old["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in old and new.get("deletionGracePeriodSeconds") is None:
        new["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]
    new.pop("selfLink", None)


def is_deletable(meta: Obj) -> bool:
    """Whether nothing holds an object any more that is marked for deletion."""
    return "deletionTimestamp" in meta and not meta.get("finalizers") and not meta.get("deletionGracePeriodSeconds")


def validate_metadata_update(
    new: Obj, old: Obj, *, group: str, plural: str, namespaced: bool, minor: int
) -> list[FieldError]:
    """ValidateObjectMetaUpdate; `minor` is the emulated release."""
    problems: list[FieldError] = []
    if "deletionTimestamp" in old:
        extra = set(new.get("finalizers") or ()) - set(old.get("finalizers") or ())
        if extra:
            quoted = ", ".join(f'"{f}"' for f in sorted(extra))
            problems.append(
                forbidden_field(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, found new finalizers "
                    f"[]string{{{quoted}}}",
                )
            )
    for key in _IMMUTABLE:
        if new.get(key) != old.get(key):
            problems.append(invalid(f"metadata.{key}", new.get(key), "field is immutable"))
    unchanged = all(new.get(k) == old.get(k) for k in ("labels", "annotations", "ownerReferences", "finalizers"))
    if not unchanged:
        # Twice: upstream checks these separately and again in ValidateObjectMeta.
        problems += 2 * label_errors(new.get("labels"), "metadata.labels")
        problems += 2 * _annotations(new.get("annotations"))
        problems += 2 * _owners(new.get("ownerReferences"), minor)
        problems += _finalizers(new.get("finalizers"))
    return problems


def settle_namespace(obj: Obj, namespace: str, *, namespaced: bool) -> None:
    """Set metadata.namespace from the path. Raises 400 if the body of a namespaced object has another one."""
    meta = obj["metadata"]
    found = meta.get("namespace", "")
    if not namespaced:
        meta.pop("namespace", None)
        return
    if found and found != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    meta["namespace"] = namespace


def check_name(obj: Obj, name: str) -> None:
    """Make metadata.name agree with the path of an update. Raises a 400."""
    found = obj["metadata"].get("name", "")
    if not found:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if found != name:
        raise bad_request(f"the name of the object ({found}) does not match the name on the URL ({name})")
