"""Generated from proto/health_v1alpha1.proto; do not edit."""
