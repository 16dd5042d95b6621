"""Control planes: the seat that stores, validates and watches Kubernetes objects."""
