"""Drivers that are broken in one way each, to test that a report leads to the cause: ten in Python, ten in Go.

`driver` is the program in Python, `go` the one in Go, and `bugs` the list of what is wrong with them and what a report
must name.
"""
