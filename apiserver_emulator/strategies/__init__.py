"""What kinds outside resource.k8s.io do on write, and which fields and columns they show: one module a family."""
