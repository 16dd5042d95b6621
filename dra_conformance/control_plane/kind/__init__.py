"""`--control-plane kind`: a cluster with nodes of its own in containers, made by the program `kind` through Docker."""

from dra_conformance.control_plane.kind.control_plane import KindControlPlane
from dra_conformance.control_plane.kind.programs import DEFAULT_IMAGE, advice, require, requirements

__all__ = ["DEFAULT_IMAGE", "KindControlPlane", "advice", "require", "requirements"]
