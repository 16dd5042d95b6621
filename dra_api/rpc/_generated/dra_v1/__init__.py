"""Generated from proto/dra_v1.proto; do not edit."""
