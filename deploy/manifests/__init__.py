"""The reference components on fake GPUs, for clusters: `python -m deploy.manifests` writes `deploy/kubernetes` and the
Helm chart `deploy/chart`."""
