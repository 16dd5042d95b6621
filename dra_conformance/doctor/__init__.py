"""Preflight: what a run needs, what is missing, and the way out. Nothing here writes."""
