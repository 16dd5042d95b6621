"""`python -m verification docker`: run `--control-plane k3s` on a real Docker engine with a real container.

The engine is moby's `dockerd`. The image is built here and replaces that of k3s: the Kubernetes programs behind the
command line of `k3s server` (verification/third_party/go/docker/cluster). Engine, container and runs live in namespaces
and a folder that end with the command.
"""
