"""A DRA driver for devices of any kind, listed in a file: NICs, FPGAs or others."""
