"""Upstream's own tests of Dynamic Resource Allocation: their titles, and the rules that judge the same behaviour."""
