"""Developer tools: generators of checked-in files."""
