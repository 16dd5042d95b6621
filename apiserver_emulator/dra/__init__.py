"""The API group resource.k8s.io: strategies, conversions, served versions.

`register` adds the group to a resource table; strategies have no state. Behaviour was observed on kube-apiserver 1.36.2
or follows its sources; the modules name the differences of 1.34, 1.35 and 1.37.
"""

from apiserver_emulator.dra.registration import GROUP, register, served_versions

__all__ = ["GROUP", "register", "served_versions"]
