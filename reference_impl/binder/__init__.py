"""The binder: carries out BindRequests (claim status, reservation, pods/binding) as the KAI protocol specifies."""

from reference_impl.binder.options import BinderOptions
from reference_impl.binder.reconcile import Binder

__all__ = ["Binder", "BinderOptions"]
