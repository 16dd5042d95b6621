"""A real kubelet with containerd and runc on one node of a scenario: started, watched, rebooted and ended.

`RealKubelet` stands where the harness's own `Kubelet` stands. The package imports nothing of `reference_impl`.
"""
