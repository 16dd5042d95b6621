"""Generated from proto/device_plugin_v1beta1.proto; do not edit."""
