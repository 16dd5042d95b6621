"""Runs the suite many times on a busy machine and lists the scenarios whose verdict changes.

`runs` makes the runs, `load` keeps the machine busy, `page` writes docs/explanation/stability.md from the results.
"""
