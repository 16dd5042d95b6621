"""The objects of an existing cluster whose changes can be part of a scenario.

Other users of the cluster and other workers of the run change objects all the time. If these changes counted, the
system would never be quiet, and each step would wait for as long as the run's patience.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from dra_api.objects import NODES, Obj, Resource, meta, name_of, namespace_of
from dra_conformance.core.labels import RUN_LABEL
from dra_conformance.engine import suffixes


class Concerns:
    """Decides by the suffix of a scenario's names, by its nodes, and by what the run has made under fixed names.

    `made` returns whether the run has made a namespace, `nodes` the names of the scenario's nodes. All scenarios write
    into the namespace `shared`.
    """

    def __init__(
        self,
        *,
        suffix: str,
        run_id: str,
        made: Callable[[str], bool],
        nodes: Callable[[], Collection[str]],
        shared: str,
    ) -> None:
        # Without the look-ahead the suffix of scenario 1 would also match scenario 12.
        self._own = re.compile(rf"{re.escape(suffix)}(?!\d)")
        self._other = suffixes.of_run(run_id)
        self._run_id = run_id
        self._made = made
        self._nodes = nodes
        self._shared = shared

    def __call__(self, resource: Resource, obj: Obj) -> bool:
        """Return whether a change of this object can be part of the scenario."""
        if resource.namespaced:
            namespace = namespace_of(obj)
            if self._own.search(namespace) or namespace == self._shared:
                return True
            return not self._other.search(namespace) and self._made(namespace)
        names = [name for name in _names_in(resource, obj) if name]
        if any(self._own.search(name) for name in names) or not set(names).isdisjoint(self._nodes()):
            return True
        other = any(self._other.search(name) for name in names)
        return not other and (meta(obj).get("labels") or {}).get(RUN_LABEL) == self._run_id


def _names_in(resource: Resource, obj: Obj) -> Iterator[str]:
    """Yield the names in a cluster-wide object that scenarios choose."""
    yield name_of(obj)
    if resource == NODES:
        return
    spec = obj.get("spec") or {}
    selector = spec.get("deviceSelector") or {}  # of a DeviceTaintRule
    pool = spec.get("pool") or {}
    for found in (spec.get("nodeName"), spec.get("driver"), pool.get("name"), selector.get("driver")):
        yield str(found or "")
