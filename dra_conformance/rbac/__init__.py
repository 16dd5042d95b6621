"""RBAC permissions of a run: the permission table, its ClusterRoles, and the check of both."""
