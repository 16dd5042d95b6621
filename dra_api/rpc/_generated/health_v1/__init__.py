"""Generated from proto/health_v1.proto; do not edit."""
