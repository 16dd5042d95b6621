"""`python -m verification docker`: `--control-plane k3s` against a real Docker engine and a real container.

The engine is `dockerd` as moby builds it. Where k3s' image cannot be pulled, a container that is built here stands in
for it: Kubernetes' own programs behind k3s' command line (verification/third_party/go/docker/cluster). Engine, container
and the runs against them live in namespaces and in a folder of their own, which end with the command.
"""
