"""Ten drivers that are broken in one way each, to test that a report leads to the cause.

`driver` is the program and `bugs` the list of what is wrong with it and what a report must name.
"""
