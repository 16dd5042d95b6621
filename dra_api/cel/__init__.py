"""CEL as Kubernetes runs it: DRA device selectors and CRD validation rules, in pure Python.

    selector = compile_selector('device.driver == "gpu.example.com"')
    view = DeviceView("gpu.example.com", {"type": {"string": "gpu"}}, {"memory": {"value": "40Gi"}})
    selector.matches(view)

compile_selector() and compile_rule() raise CelCompileError; matches() and evaluate() raise CelRuntimeError, or
CostExceeded. Language, functions, messages and costs follow Kubernetes 1.36 (cel-go 0.26): the base environment of
k8s.io/apiserver/pkg/cel/environment and k8s.io/dynamic-resource-allocation/cel.
"""

from .device import (
    COST_LIMIT,
    MAX_LENGTH,
    DeviceView,
    Selector,
    compile_selector,
    cost_of_derived_attribute,
    derive_attribute,
)
from .errors import CelCompileError, CelError, CelRuntimeError, CostExceeded, Issue
from .rule import Rule, compile_rule, optional
from .schema import check_rule

__all__ = [
    "COST_LIMIT",
    "MAX_LENGTH",
    "CelCompileError",
    "CelError",
    "CelRuntimeError",
    "CostExceeded",
    "DeviceView",
    "Issue",
    "Rule",
    "Selector",
    "check_rule",
    "compile_rule",
    "compile_selector",
    "cost_of_derived_attribute",
    "derive_attribute",
    "optional",
]
