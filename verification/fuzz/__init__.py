"""Fuzz testing of everything that reads what somebody else wrote: files, requests, expressions.

Targets of a run are hostile: a byte of theirs must not end the harness, hang it or fill its memory. Each parser gets
mutated inputs from Atheris (Google's binding of libFuzzer for Python), which is guided by the lines that an input
reaches. An input that raises anything but the parser's own error, takes longer than a few seconds or needs too much
memory is a finding; it is saved, and becomes a test of the parser.

`python -m verification fuzz` (make fuzz). The corpora below `corpus/` are committed: inputs that together reach every
line that the campaigns have reached.
"""
