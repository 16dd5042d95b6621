"""From features to verdicts: the plan, the run, the world of a scenario, the vocabulary of steps, mutants."""
