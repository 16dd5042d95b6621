"""The planted bugs: the scenario that finds each of them, and what a report must name on its first screen."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Bug:
    """One bug. `method` is the call that goes wrong, `object` what it is about, `cause` what is wrong with it.

    `in_profile` is the rule, object and cause that a run of the whole profile leads to, if a smaller scenario than
    `scenario` finds the bug, too; `A|B` is one of two rules.
    """

    name: str
    scenario: str
    rule: str
    method: str
    object: str
    cause: str
    in_profile: tuple[str, str, str] | None = None

    @property
    def of_profile(self) -> Bug:
        """What a report of a whole profile must name."""
        if self.in_profile is None:
            return self
        rule, about, cause = self.in_profile
        return replace(self, rule=rule, object=about, cause=cause)


_RESPONSE = "driver/prepare#the-response-for-a-claim-has-its-own-devices"
_PREPARE, _UNPREPARE = "NodePrepareResources", "NodeUnprepareResources"

PYTHON = (
    # It returns a CDI id without writing the specification.
    Bug("no-specification", _RESPONSE, "NV-049d", _PREPARE, "claim train", "unresolvable CDI devices"),
    # It mixes up its devices.
    Bug("other-device", _RESPONSE, "NV-049c", _PREPARE, "claim train", '"device":"dev-1"'),
    # Its response has no entry for the claim.
    Bug("missing-answer", _RESPONSE, "NV-049b", _PREPARE, "claim train", "no entry"),
    # It crashes in Prepare.
    Bug("panic", _RESPONSE, "NV-049b", _PREPARE, "claim train", "panic: runtime error: index out of range [2]"),
    # Prepare is not idempotent.
    Bug("once", "driver/prepare#prepare-may-be-repeated", "NV-051", _PREPARE, "claim train", "already prepared"),
    # After a restart it takes the claims of its checkpoint for those of another program.
    Bug(
        "restart",
        "driver/restarts#a-restarted-driver-prepares-the-same-devices-again",
        *("NV-052", _PREPARE, "claim train", "stale checkpoint: device is in use"),
    ),
    # It does not compare the claim's uid with that of the call.
    Bug(
        "uid",
        "driver/refusals#a-claim-that-was-replaced-by-another-of-its-name-is-refused",
        *("NV-053", _PREPARE, "claim train", '"device":"dev-0"'),
    ),
    # A refused claim takes the other claims of its call with it.
    Bug(
        "sticky-error",
        "driver/refusals#a-claim-that-is-refused-does-not-affect-the-others",
        *("NV-056", _PREPARE, "claim good", "the batch of this claim has failed"),
    ),
    # Unprepare of a claim that it does not know is an error.
    Bug(
        "unknown-claim",
        "driver/unprepare#unprepare-of-an-unknown-claim-succeeds",
        *("DRA-279", _UNPREPARE, "claim unknown", "no checkpoint entry"),
    ),
    # Its slice announces a second one, which it never publishes.
    Bug(
        "slice-count",
        "driver/slices#the-slices-of-a-node-form-complete-pools",
        *("DRA-288", "ADDED resourceslices", "n1-", '"resourceSliceCount":[2]'),
    ),
)

GO = (
    # The CDI id has another kind than the specification that it writes.
    Bug("wrong-kind", _RESPONSE, "NV-049d", _PREPARE, "claim train", "planted.dra.test/gpu="),
    # It takes its own name for that of the pool.
    Bug("wrong-pool", _RESPONSE, "NV-049c", _PREPARE, "claim train", '"pool":"planted.dra.test"'),
    # It skips claims without configuration, and has no entry for them.
    Bug("missing-answer", _RESPONSE, "NV-049b", _PREPARE, "claim train", "no entry"),
    # A map that was never made: it panics in Prepare.
    Bug("panic", _RESPONSE, "NV-049b", _PREPARE, "claim train", "panic: assignment to entry in nil map"),
    # It creates the specification with O_EXCL, so that Prepare works once.
    Bug("exclusive", "driver/prepare#prepare-may-be-repeated", "NV-051", _PREPARE, "claim train", "file exists"),
    # After a restart it compares the owner in its checkpoint with the uid in another format.
    Bug(
        "restart",
        "driver/restarts#a-restarted-driver-prepares-the-same-devices-again",
        *("NV-052", _PREPARE, "claim train", "device dev-0 is in use by checkpoint/"),
    ),
    # Unprepare does not release the devices.
    Bug(
        "leak",
        "driver/unprepare#an-unprepared-device-can-be-prepared-for-another-claim",
        *("NV-064", _PREPARE, "claim second", "device dev-0 is in use by"),
    ),
    # Unprepare of a claim that it does not know is an error.
    Bug(
        "unknown-claim",
        "driver/unprepare#unprepare-of-an-unknown-claim-succeeds",
        *("DRA-279", _UNPREPARE, "claim unknown", "claim unknown is not in the checkpoint"),
    ),
    # The response to Unprepare has no entry for a claim that it does not know.
    Bug(
        "unanswered",
        "driver/unprepare#unprepare-may-be-repeated-and-the-claim-can-be-prepared-again",
        *("NV-108", _UNPREPARE, "claim train", "no entry"),
        in_profile=("DRA-279", "claim unknown", "no entry"),
    ),
    # Unprepare reads the claim from the API server.
    Bug(
        "look-up",
        "driver/unprepare#a-deleted-claim-can-be-unprepared",
        *("NV-110", _UNPREPARE, "claim train", '"train" not found'),
        in_profile=("DRA-279", "claim unknown", '"unknown" not found'),
    ),
)
