"""A GPU driver that keeps NVIDIA's promises and shares none of the reference's private choices.

Its messages have other words, its checkpoint another format, its files and sockets other names, its feature gates
other defaults. Every scenario of a driver must pass with it: a scenario that fails judges the reference's own choices.

`python -m tests.other_driver [--focus REGEX]` runs the scenarios and prints those that did not pass.
"""
