"""What a run may ask of a cluster: one table of rights, the roles made from it, and the check of both."""
