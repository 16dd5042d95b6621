"""The embedded control plane: a Kubernetes API server emulation in this process, in memory."""
