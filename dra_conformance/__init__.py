"""dra_conformance."""
