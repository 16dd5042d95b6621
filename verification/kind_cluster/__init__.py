"""`python -m verification kind`: `--control-plane kind`, and the manifests of `deploy` on a kind cluster.

It uses the Docker engine of this machine. If none runs, `--start-engine` starts an installed `dockerd` in namespaces of
its own and stops it at the end.
"""
