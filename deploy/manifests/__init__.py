"""Manifests of the reference components on fake GPUs: `python -m deploy.manifests` writes `deploy/kubernetes`."""
