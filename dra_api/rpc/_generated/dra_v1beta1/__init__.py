"""Generated from proto/dra_v1beta1.proto; do not edit."""
