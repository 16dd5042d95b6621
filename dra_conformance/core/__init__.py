"""Vocabulary of the harness: statuses, tags, options, feature files, rules, events, processes and errors.

The bottom layer of `dra_conformance`: it imports nothing of the packages above it.
"""
