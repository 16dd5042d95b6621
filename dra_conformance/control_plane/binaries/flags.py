"""The command lines of a control plane's programs. Pure functions of paths and ports.

Loopback only; every server requires a certificate or a token. etcd runs without fsync: durability is not needed, since
the data is removed with the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LOOPBACK = "127.0.0.1"
RESOURCE_VERSIONS = ("v1beta2", "v1beta1", "v1alpha3")  # v1 is served by default
# Served only if this gate is on and the version is enabled; observed on kube-apiserver 1.37.2.
VERSIONS_OF_GATES = {"GenericWorkload": "scheduling.k8s.io/v1beta1"}

AUDIT_POLICY_FILE = "audit-policy.yaml"
# User and resource, once per request, without requests of Kubernetes' own components.
AUDIT_POLICY = b"""apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  userGroups: ["system:masters", "system:serviceaccounts", "system:nodes"]
- level: None
  users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"]
- level: Metadata
"""

# The controllers that are components of their own, by option name.
COMPONENT_CONTROLLERS: Mapping[str, str] = {
    "claim-controller": "resourceclaim-controller",
    "taint-eviction": "device-taint-eviction-controller",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Folder and ports of one control plane; the ports were free when it was created."""

    folder: Path
    etcd_port: int
    peer_port: int
    server_port: int

    @property
    def url(self) -> str:
        """The API server's address."""
        return f"https://{LOOPBACK}:{self.server_port}"

    @property
    def etcd_url(self) -> str:
        """etcd's address."""
        return f"https://{LOOPBACK}:{self.etcd_port}"

    def file(self, name: str) -> str:
        """The path of a file in the folder."""
        return str(self.folder / name)


def gates(values: Mapping[str, bool]) -> list[str]:
    """Return `--feature-gates`, or nothing if no gate is set."""
    joined = ",".join(f"{name}={str(value).lower()}" for name, value in sorted(values.items()))
    return [f"--feature-gates={joined}"] if joined else []


def emulated_release(release: str) -> list[str]:
    """Return the flag of Kubernetes' programs that lets them emulate an older release ("1.36"), or nothing."""
    return [f"--emulated-version=kube={release}"] if release else []


def served_versions(feature_gates: Mapping[str, bool], runtime_config: Mapping[str, bool]) -> dict[str, bool]:
    """Return kube-apiserver's runtime-config: every version of resource.k8s.io, and the API groups of gates."""
    gated = {version: True for gate, version in VERSIONS_OF_GATES.items() if feature_gates.get(gate, False)}
    return {**{f"resource.k8s.io/{version}": True for version in RESOURCE_VERSIONS}, **gated, **runtime_config}


def etcd(layout: Layout) -> list[str]:
    """Return etcd's flags: one member, TLS with client certificates for clients and peers."""
    peer = f"https://{LOOPBACK}:{layout.peer_port}"
    return [
        "--name=default",
        f"--data-dir={layout.file('etcd')}",
        f"--listen-client-urls={layout.etcd_url}",
        f"--advertise-client-urls={layout.etcd_url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--client-cert-auth",
        f"--trusted-ca-file={layout.file('ca.crt')}",
        f"--cert-file={layout.file('etcd.crt')}",
        f"--key-file={layout.file('etcd.key')}",
        "--peer-client-cert-auth",
        f"--peer-trusted-ca-file={layout.file('ca.crt')}",
        f"--peer-cert-file={layout.file('etcd.crt')}",
        f"--peer-key-file={layout.file('etcd.key')}",
        "--unsafe-no-fsync",
        # The only member elects itself after the election timeout, which delays the start.
        "--heartbeat-interval=10",
        "--election-timeout=100",
        "--log-level=warn",
    ]


def api_server(
    layout: Layout,
    feature_gates: Mapping[str, bool],
    runtime_config: Mapping[str, bool] | None = None,
    *,
    audit: Path | None = None,
    emulated: str = "",
) -> list[str]:
    """Return kube-apiserver's flags: Node and RBAC authorizers, NodeRestriction, every version of resource.k8s.io.

    `runtime_config` overrides the served versions. `audit` is the file for one JSON line per request, by
    `AUDIT_POLICY`, which is in the folder. `emulated` is an older release ("1.36") that the program emulates.
    """
    # The Node authorizer watches v1 ResourceSlices; without v1 the server never becomes ready (1.36.2).
    authorizers = "Node,RBAC" if (runtime_config or {}).get("resource.k8s.io/v1", True) else "RBAC"
    # An older release has not the versions of these gates, and refuses to start with them.
    served = served_versions({} if emulated else feature_gates, runtime_config or {})
    audited = (
        []
        if audit is None
        else [
            f"--audit-policy-file={layout.file(AUDIT_POLICY_FILE)}",
            f"--audit-log-path={audit}",
            "--audit-log-mode=blocking",
        ]
    )
    return [
        f"--bind-address={LOOPBACK}",
        f"--secure-port={layout.server_port}",
        f"--advertise-address={LOOPBACK}",
        # Endpoints reject loopback addresses, so the Service `kubernetes` gets none.
        "--endpoint-reconciler-type=none",
        f"--cert-dir={layout.file('served')}",
        f"--tls-cert-file={layout.file('apiserver.crt')}",
        f"--tls-private-key-file={layout.file('apiserver.key')}",
        f"--client-ca-file={layout.file('ca.crt')}",
        f"--token-auth-file={layout.file('tokens.csv')}",
        f"--etcd-servers={layout.etcd_url}",
        f"--etcd-cafile={layout.file('ca.crt')}",
        f"--etcd-certfile={layout.file('etcd-client.crt')}",
        f"--etcd-keyfile={layout.file('etcd-client.key')}",
        f"--authorization-mode={authorizers}",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-signing-key-file={layout.file('sa.key')}",
        f"--service-account-key-file={layout.file('sa.key')}",
        "--runtime-config=" + ",".join(f"{name}={str(on).lower()}" for name, on in served.items()),
        *audited,
        *emulated_release(emulated),
        *gates(feature_gates),
    ]


def controllers(
    kubeconfig: Path, feature_gates: Mapping[str, bool], *, run: Sequence[str], layout: Layout | None = None
) -> list[str]:
    """Return flags of kube-controller-manager with the controllers `run` (`*` and `-name` as in its flag).

    `layout` has the files of the control plane's own manager. It serves nothing: port 0.
    """
    own = (
        []
        if layout is None
        else [
            f"--root-ca-file={layout.file('ca.crt')}",
            f"--service-account-private-key-file={layout.file('sa.key')}",
            # Nodes of scenarios have no kubelet that renews leases; they must not become NotReady.
            "--node-monitor-grace-period=24h",
        ]
    )
    return [
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(run)}",
        "--use-service-account-credentials=true",
        # There is one instance, and waiting for a lease would delay it.
        "--leader-elect=false",
        "--secure-port=0",
        # The defaults (20 and 30) would make scenarios wait for the client's own limit.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        *own,
        *gates(feature_gates),
    ]


def scheduler_configuration(kubeconfig: Path, arguments: Mapping[str, str]) -> bytes:
    """Return a KubeSchedulerConfiguration (JSON) of the default profile with arguments of DynamicResources.

    With a file, kube-scheduler ignores the flags for kubeconfig and client limits, so the file has them.
    """
    version = "kubescheduler.config.k8s.io/v1"
    own = {"apiVersion": version, "kind": "DynamicResourcesArgs", **arguments}
    profile = {"schedulerName": "default-scheduler", "pluginConfig": [{"name": "DynamicResources", "args": own}]}
    return json.dumps(
        {
            "apiVersion": version,
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 5000},
            "leaderElection": {"leaderElect": False},
            "profiles": [profile],
        }
    ).encode()


def configured(words: Sequence[str], file: Path) -> list[str]:
    """Return a command line of kube-scheduler with a configuration file, which has the connection in place of flags."""
    return [*(word for word in words if not word.startswith("--kube")), f"--config={file}"]


def scheduler(kubeconfig: Path, feature_gates: Mapping[str, bool]) -> list[str]:
    """Return kube-scheduler's flags with its default profile and scheduler_perf's client limits. Serves nothing."""
    return [
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=5000",
        "--kube-api-burst=5000",
        *gates(feature_gates),
    ]
