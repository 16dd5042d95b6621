"""The fidelity report: the same API probes, put to the embedded control plane and to a real one, and every difference.

`python -m verification fidelity` runs it; `--write` makes docs/explanation/fidelity.md anew. Differences that are
known, with the reason for each, stand in known.yaml; any other fails the command.
"""
