"""Verify on a real API server that the permissions that `dra-conformance rbac` prints suffice and are minimal."""
