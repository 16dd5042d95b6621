"""placeholder"""

from dra_api.objects import Obj
from peers.duel.reference import Fact


def problem(case: Obj, fact: Fact) -> str:
    """Nothing yet."""
    return ""
