"""Taint eviction: pods that use a device with a NoExecute taint are deleted unless their claim tolerates it."""

from reference_impl.taint_eviction.controller import TaintEviction, TaintEvictionOptions

__all__ = ["TaintEviction", "TaintEvictionOptions"]
