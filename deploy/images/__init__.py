"""Container images, assembled on this machine without a registry: `python -m deploy.images`."""
