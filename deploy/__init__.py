"""Images and manifests that run the components in a cluster."""
