"""From features to verdicts: what is planned, how pytest runs it, what steps may say."""
