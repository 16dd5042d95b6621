"""The table of known bugs: what upstream fixed, and which scenario detects each bug."""
