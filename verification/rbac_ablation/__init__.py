"""The rights that `dra-conformance rbac` prints, put to a real API server: enough, and nothing too much."""
