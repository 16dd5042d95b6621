"""Mutation survey: faults chosen by a machine, run against the scenarios.

The hand-written mutants (`dra_conformance/mutants/`) were written together with the scenarios. The survey changes the
source of a component by operators that know nothing of the rules, and counts the changes that a scenario detects. A
mutant is killed only if a check of a rule fails; unit tests do not count.

The operators are those of mutmut 3 (BSD 3-clause licence, a development dependency), used as a library on libcst trees;
`operators` lists the four that are added. Neither mutmut nor cosmic-ray can run the survey itself: both run a test
command for a mutant and use its exit code, but here a mutant runs the scenarios that reach its line in one process,
until the first failed check of a rule. mutmut's operators were preferred to those of cosmic-ray because they also
change arguments, assignments and strings, and because cosmic-ray needs a database, git and an HTTP server library.

The modules: `components` (which source belongs to which component), `operators` and `mutants` (all mutants of a file),
`sample` (a reproducible choice), `reach` (which scenarios execute which line), `trial` (one mutant), `survey` (all
chosen mutants, resumable), `results` (what is stored), `unobservable` (the classification of survivors), `page`.
"""
