"""The judge: says whether an outcome is right, from the objects alone. It shares no code with the reference parts."""
