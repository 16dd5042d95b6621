"""Generated from proto/grpc_health_v1.proto; do not edit."""
