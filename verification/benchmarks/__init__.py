"""Measurements, by `make bench`. They print figures and assert nothing: machines are shared and noisy."""
