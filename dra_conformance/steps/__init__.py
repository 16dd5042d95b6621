"""The step vocabulary, a module a noun. Every sentence stands in `dra-conformance list steps`."""
