"""A real control plane of the run: etcd and Kubernetes programs on loopback, with certificates and RBAC."""

from __future__ import annotations

from dra_conformance.control_plane.binaries.control_plane import BinariesControlPlane
from dra_conformance.control_plane.binaries.programs import Programs, ProgramsMissing, Wanted, find

__all__ = ["BinariesControlPlane", "Programs", "ProgramsMissing", "Wanted", "find"]
