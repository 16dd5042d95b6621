"""Differential tests: generated allocation cases, solved by the reference and by upstream's own code, compared by
outcome.

`python -m verification.differential --cases 20000 --seed 1` runs them. Outcomes are equal if both allocate, both find
nothing, or both return an error. The choice among several suitable devices does not matter.
"""
