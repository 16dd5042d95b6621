"""Pods: defaults, validation, admission, binding, eviction, and the columns that kubectl prints."""
