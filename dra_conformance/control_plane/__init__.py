"""Control planes: the component that stores, validates and watches Kubernetes objects."""
