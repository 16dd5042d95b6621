"""The built-in kinds outside resource.k8s.io, except pods: one module for each family, and the table of all."""
