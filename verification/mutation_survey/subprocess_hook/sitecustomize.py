"""Installs the mutant, or the line recorder, of a parent process. Python imports this module at its start."""

from verification.mutation_survey import loader, reach_child

loader.install_from_environment()
reach_child.start_from_environment()
