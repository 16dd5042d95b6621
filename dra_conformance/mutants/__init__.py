"""Deliberate faults that the scenarios must catch, one module per chapter.

`dra-conformance mutants` loads them; see `dra_conformance.engine.mutation`.
"""
