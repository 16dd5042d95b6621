"""ComputeDomains, their IMEX channels, and the daemons that connect nodes.

`controller` creates the objects of a ComputeDomain and reports whether it is ready; `channels` is the kubelet plugin
for `compute-domain.nvidia.com`; `daemon` simulates the nvidia-imex daemons, which need real NVLink hardware.

Source: kubernetes-sigs/dra-driver-nvidia-gpu at 95932046 (2026-08-07); rules NV-142 to NV-174.
"""
