"""Operations on stored objects: create, update, delete, with defaulting, validation, admission and field ownership.

They correspond to k8s.io/apiserver pkg/registry and serve requests and controllers alike.
"""
