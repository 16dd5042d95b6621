"""The fidelity report: the same API probes for the emulator and a real control plane, and every difference.

`python -m verification fidelity` runs it; `--write` generates docs/explanation/fidelity.md. known.yaml has the known
differences with their reasons; any other difference fails the command.
"""
