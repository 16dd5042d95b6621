"""The controllers that the emulator runs itself: garbage collection, namespace and CRD deletion, service accounts,
quotas, statuses of pools, the root certificate.

They write as the service accounts of kube-controller-manager, through the same operations as requests.

Source: pkg/controller/garbagecollector (background, foreground, orphan), pkg/controller/namespace/deletion.
"""

from apiserver_emulator.controllers.thread import Controllers

__all__ = ["Controllers"]
