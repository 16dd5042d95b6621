"""The claim controller: claims from templates, `reservedFor` clean-up, deallocation, end of generated claims."""

from reference_impl.claim_controller.controller import ClaimController, ClaimControllerOptions

__all__ = ["ClaimController", "ClaimControllerOptions"]
