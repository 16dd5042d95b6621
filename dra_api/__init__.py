"""The vocabulary that every part speaks: objects, client, informer, CEL, quantities, clock, gRPC stubs.

Nothing here decides; nothing here imports from the other packages.
"""

__version__ = "0.2.0"
