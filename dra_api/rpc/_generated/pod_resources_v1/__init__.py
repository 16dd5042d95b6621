"""Generated from proto/pod_resources_v1.proto; do not edit."""
