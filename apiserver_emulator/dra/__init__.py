"""The resource.k8s.io group of the embedded API server: strategies, conversions, served versions.

`register` adds the group to a resource table; strategies keep nothing between requests, so nothing has to be ended.
Behaviour follows kube-apiserver 1.36.2 where a rule was observed there, and its sources otherwise; 1.34, 1.35 and 1.37
differ where the modules say so.
"""

from apiserver_emulator.dra.registration import GROUP, register, served_versions

__all__ = ["GROUP", "register", "served_versions"]
