"""Third-party programs that the suite is tried against. None of them is ours; each is pinned in a Go module here."""
