"""A real kubelet with containerd and runc on one node of a scenario: started, observed, rebooted and stopped.

`RealKubelet` replaces the emulated `Kubelet`. The package imports nothing of `reference_impl`.
"""
