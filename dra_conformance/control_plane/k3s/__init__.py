"""`--control-plane k3s`: a whole small cluster in one container, through Docker and testcontainers."""

from dra_conformance.control_plane.k3s.control_plane import DEFAULT_IMAGE, K3sControlPlane, docker_info

__all__ = ["DEFAULT_IMAGE", "K3sControlPlane", "docker_info"]
