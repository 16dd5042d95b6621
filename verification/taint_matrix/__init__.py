"""The matrix of device taints: every combination of taint, source, toleration and users, and what each must lead to.

`cells` has the dimensions, `cover` chooses cells so that each pair of values occurs, `judge` computes what becomes of
the pods of a cell, independently of the reference implementation, and `feature` writes cells as scenarios.
"""
