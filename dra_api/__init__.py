"""The lowest layer, which all packages share: objects, client, informer, CEL, quantities, clock, gRPC stubs.

It contains no decisions of any component and imports no other package of the project.
"""

__version__ = "0.2.0"
