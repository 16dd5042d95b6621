"""Generated from proto/registration_v1.proto; do not edit."""
