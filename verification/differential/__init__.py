"""The duel: generated allocation cases, answered by the reference and by upstream's own code, compared on outcome.

`python -m verification.differential --cases 20000 --seed 1` runs it. Equal is: both allocate, both find nothing, or
both refuse; which of several fitting devices was taken does not matter.
"""
