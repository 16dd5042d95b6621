"""Fuzz tests of the parsers: files, requests and expressions that programs under test or users write.

Such an input must not end a run, make it hang, or fill the memory. Each parser gets mutated inputs from Atheris
(Google's binding of libFuzzer for Python), which prefers inputs that reach new lines. A failure is an exception that
the parser does not document, more than 10 s for one input, or more than 2 GiB of memory. The input is saved and
becomes a test of the parser.

`python -m verification fuzz` (make fuzz). The corpora below `corpus/` are committed: inputs that together reach all
lines that earlier runs reached.
"""
