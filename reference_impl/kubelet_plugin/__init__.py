"""The driver's component: a kubelet plugin for `gpu.nvidia.com`, after the NVIDIA DRA driver for GPUs.

Its data comes from NVML (through the `pynvml` module it is given), the driver root's files and the API server. The
checkpoint stores prepared claims, CDI specs describe the devices of containers. `KubeletPlugin` owns all of it between
`start` and `stop`; prepared claims outlive both.

Source: kubernetes-sigs/dra-driver-nvidia-gpu at 95932046 (2026-08-07), cmd/gpu-kubelet-plugin; rules NV-001 to NV-128.
"""
