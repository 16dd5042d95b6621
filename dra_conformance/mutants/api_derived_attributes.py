"""Faults in the validation of derived attributes, alpha in Kubernetes 1.37."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_api.cel import CelCompileError
from dra_api.status import duplicate, invalid, too_many
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.api_patches import forget

_DERIVED = "apiserver_emulator.dra.derived_attributes"
_CLASS = f"{_DERIVED}:DerivedAttributes"
_COST = "dra_api.cel:cost_of_derived_attribute"
_Function = Callable[..., Any]
_GATES = ("DRADerivedAttributes=true",)
_ON: dict[str, Any] = {"kubernetes_version": "1.37", "feature_gates": _GATES}
_LISTS_ON: dict[str, Any] = {"kubernetes_version": "1.37", "feature_gates": (*_GATES, "DRAListTypeAttributes=true")}


def _used(patch: Patch, wrong: Callable[[set[tuple[str, str]], str, str], bool]) -> None:
    """Replace the test of whether a constraint uses an attribute by `wrong(uses, name, request)`."""
    patch.replace(f"{_CLASS}._is_used", lambda self, name, request: wrong(self._used, name, request))


@mutant("unused-derived-attribute", rule="DRA-434", **_ON)
def _(patch: Patch) -> None:
    """A derived attribute may be used by no constraint."""
    _used(patch, lambda uses, name, request: True)


@mutant("distinct-attribute-is-no-use", rule="DRA-434", **_ON)
def _(patch: Patch) -> None:
    """Only matchAttribute uses a derived attribute."""

    def make(original: _Function) -> _Function:
        def init(self: Any, constraints: Any, rules: Any) -> None:
            original(self, [one for one in constraints if "matchAttribute" in one], rules)

        return init

    patch.wrap(f"{_CLASS}.__init__", make)


@mutant("used-anywhere-in-the-claim", rule="DRA-435", **_ON)
def _(patch: Patch) -> None:
    """A constraint of another request uses the attribute too."""
    _used(patch, lambda uses, name, request: name in {one for _, one in uses})


@mutant("constraint-names-its-requests", rule="DRA-435", **_ON)
def _(patch: Patch) -> None:
    """Of the requests that a constraint names, only the first one counts."""

    def make(original: _Function) -> _Function:
        def init(self: Any, constraints: Any, rules: Any) -> None:
            original(self, [{**one, "requests": (one.get("requests") or [])[:1]} for one in constraints], rules)

        return init

    patch.wrap(f"{_CLASS}.__init__", make)


@mutant("constraint-of-the-request-is-no-use", rule="DRA-436", **_ON)
def _(patch: Patch) -> None:
    """A constraint of a request does not use the attributes of its alternatives."""
    _used(patch, lambda uses, name, request: ("", name) in uses or (request, name) in uses)


@mutant("constraint-of-another-alternative", rule="DRA-436", **_ON)
def _(patch: Patch) -> None:
    """A constraint of one alternative uses the attributes of all alternatives."""

    def wrong(uses: set[tuple[str, str]], name: str, request: str) -> bool:
        targets = {target.partition("/")[0] for target, one in uses if one == name}
        return bool(targets & {"", request.partition("/")[0]})

    _used(patch, wrong)


@mutant("33-derived-attributes", rule="DRA-437", **_ON)
def _(patch: Patch) -> None:
    """A request may have 33 derived attributes."""
    patch.replace(f"{_DERIVED}:ATTRIBUTES_MAX", 33)


def _of_claim(patch: Patch, wrong: Callable[[list[Any], str], list[Any]]) -> None:
    """Add the errors of `wrong(attributes of the claim so far, path)` to those of a request."""

    def make(original: _Function) -> _Function:
        def validate(self: Any, attributes: Any, path: str, request: str) -> list[Any]:
            self.before = [*getattr(self, "before", ()), *attributes]
            return [*original(self, attributes, path, request), *wrong(self.before, path)]

        return validate

    patch.wrap(f"{_CLASS}.validate", make)


@mutant("32-derived-attributes-of-a-claim", rule="DRA-437", **_ON)
def _(patch: Patch) -> None:
    """A claim may have 32 derived attributes in all."""
    _of_claim(patch, lambda attributes, path: [too_many(path, len(attributes), 32)] if len(attributes) > 32 else [])


@mutant("derived-attribute-twice", rule="DRA-438", **_ON)
def _(patch: Patch) -> None:
    """Two derived attributes of a request may have one name."""
    forget(patch, f"{_CLASS}.validate", "Duplicate", r".*\.derivedAttributes\[\d+\]")


@mutant("derived-attribute-of-two-requests", rule="DRA-438", **_ON)
def _(patch: Patch) -> None:
    """The names of derived attributes are distinct in the whole claim."""

    def wrong(attributes: list[Any], path: str) -> list[Any]:
        names = [attribute.get("name") for attribute in attributes]
        return [duplicate(path, names[-1])] if len(set(names)) < len(names) else []

    _of_claim(patch, wrong)


@mutant("derived-attribute-without-domain", rule="DRA-439", **_ON)
def _(patch: Patch) -> None:
    """The name of a derived attribute needs no domain."""
    patch.replace(f"{_DERIVED}:fully_qualified_name", lambda value, path: [])


def _lenient(patch: Patch, accepted: Callable[[str, str], bool]) -> None:
    """Accept expressions whose result is of another type, if `accepted(expression, message)`."""

    def make(original: _Function) -> _Function:
        def cost(expression: str, **options: Any) -> int:
            try:
                return int(original(expression, **options))
            except CelCompileError as error:
                if error.message.startswith("must evaluate") and accepted(expression, error.message):
                    return 1
                raise

        return cost

    patch.wrap(_COST, make)


@mutant("derived-attribute-of-any-type", rule="DRA-440", **_ON)
def _(patch: Patch) -> None:
    """The result of an expression may be of any type."""
    _lenient(patch, lambda expression, message: True)


@mutant("derived-attribute-is-a-quantity", rule="DRA-440", **_ON)
def _(patch: Patch) -> None:
    """The result of an expression may be a quantity."""
    _lenient(patch, lambda expression, message: message.endswith("Quantity"))


@mutant("derived-attribute-is-not-compiled", rule="DRA-440", **_ON)
def _(patch: Patch) -> None:
    """The scheduler compiles the expressions of derived attributes, not the API server."""
    patch.replace(_COST, lambda expression, **options: 1)


@mutant("derived-attribute-is-a-selector", rule="DRA-440", **_ON)
def _(patch: Patch) -> None:
    """A derived attribute has a boolean as result, as a selector."""

    def make(original: _Function) -> _Function:
        def validate(expression: str, path: str, *how: Any) -> list[Any]:
            found = list(original(expression, path, *how))
            boolean = any(operator in expression for operator in ("==", "!=", "all("))
            return found if boolean or found else [invalid(path, expression, "must evaluate to bool")]

        return validate

    patch.wrap(f"{_DERIVED}:validate_expression", make)


@mutant("derived-attribute-is-a-list-of-anything", rule="DRA-441", **_LISTS_ON)
def _(patch: Patch) -> None:
    """The items of a list may be of any type."""
    _lenient(patch, lambda expression, message: "not list(" in message)


@mutant("derived-attribute-is-no-list", rule="DRA-441", **_LISTS_ON)
def _(patch: Patch) -> None:
    """Lists are refused although the gate is on."""

    def make(original: _Function) -> _Function:
        return lambda expression, **options: original(expression, **{**options, "list_type_attributes": False})

    patch.wrap(_COST, make)


@mutant("derived-attribute-is-a-list-without-gate", rule="DRA-441b", **_ON)
def _(patch: Patch) -> None:
    """Lists are accepted although the gate is off."""

    def make(original: _Function) -> _Function:
        return lambda expression, **options: original(expression, **{**options, "list_type_attributes": True})

    patch.wrap(_COST, make)


@mutant("derived-attributes-of-any-cost", rule="DRA-442", **_ON)
def _(patch: Patch) -> None:
    """The costs of a claim's derived attributes are not added up."""
    patch.replace(f"{_CLASS}.too_complex", lambda self, path: [])


@mutant("costs-of-each-request", rule="DRA-442", **_ON)
def _(patch: Patch) -> None:
    """The costs are added up for each request."""

    def make(original: _Function) -> _Function:
        def validate(self: Any, *args: Any) -> list[Any]:
            self._cost = 0
            return list(original(self, *args))

        return validate

    patch.wrap(f"{_CLASS}.validate", make)


@mutant("derived-attributes-of-half-the-cost", rule="DRA-442", **_ON)
def _(patch: Patch) -> None:
    """The costs of a claim's derived attributes add up to half of the limit at most."""
    patch.replace(f"{_DERIVED}:COST_MAX", 500_000)
