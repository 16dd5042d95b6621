"""Tokens, RBAC, reviews, impersonation."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import stat
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from apiserver_emulator import ApiServerEmulator
from dra_api.client import Forbidden, KubeClient
from dra_api.clock import AdvanceableClock
from dra_api.objects import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    LEASES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SERVICE_ACCOUNTS,
    Resource,
)
from dra_api.request import User
from dra_api.transport import HttpTransport

Obj = dict[str, Any]
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")


def grant(client: KubeClient, name: str, rules: list[Obj], *subjects: Obj) -> None:
    client.create(CLUSTER_ROLES, {"metadata": {"name": name}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    client.create(CLUSTER_ROLE_BINDINGS, {"metadata": {"name": name}, "roleRef": reference, "subjects": list(subjects)})


def test_without_a_role_nothing_is_allowed(plane: ApiServerEmulator) -> None:
    jane = KubeClient(plane.transport_for("jane"))
    with pytest.raises(Forbidden) as refused:
        jane.get(PODS, "p", "default")
    assert refused.value.message == (
        'pods "p" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "default"'
    )
    assert refused.value.details == {"name": "p", "kind": "pods"}
    with pytest.raises(Forbidden, match="at the cluster scope"):
        jane.list(PODS)
    assert jane.served("apps") == ["v1"]


def test_cluster_roles_grant_everywhere(plane: ApiServerEmulator, client: KubeClient) -> None:
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"]}
    grant(client, "reader", [rule], {"kind": "User", "name": "jane"})
    jane = KubeClient(plane.transport_for("jane"))
    jane.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}})
    assert len(jane.list(CONFIG_MAPS).items) == 1
    with pytest.raises(Forbidden):
        jane.delete(CONFIG_MAPS, "a", "default")


def test_roles_grant_in_their_namespace_and_by_name(plane: ApiServerEmulator, client: KubeClient) -> None:
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": ["a"]}
    client.create(ROLES, {"metadata": {"name": "r", "namespace": "default"}, "rules": [rule]})
    client.create(
        ROLE_BINDINGS,
        {
            "metadata": {"name": "r", "namespace": "default"},
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [{"kind": "Group", "name": "readers"}],
        },
    )
    for name in ("a", "b"):
        client.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})
    jane = KubeClient(plane.transport_for("jane", ["readers"]))
    assert jane.get(CONFIG_MAPS, "a", "default")
    for name, namespace in (("b", "default"), ("a", "kube-system")):
        with pytest.raises(Forbidden):
            jane.get(CONFIG_MAPS, name, namespace)


def test_subresources_need_their_own_rule(plane: ApiServerEmulator, client: KubeClient) -> None:
    client.create(PODS, {"metadata": {"name": "p", "namespace": "default"},
                         "spec": {"containers": [{"name": "c", "image": "i"}]}})  # fmt: skip
    grant(
        client,
        "status",
        [{"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]}],
        {"kind": "User", "name": "jane"},
    )
    jane = KubeClient(plane.transport_for("jane"))
    jane.patch(PODS, "p", {"status": {"phase": "Running"}}, "default", subresource="status")
    with pytest.raises(Forbidden, match='cannot patch resource "pods" in'):
        jane.patch(PODS, "p", {"metadata": {"labels": {"a": "b"}}}, "default")
    with pytest.raises(Forbidden, match='cannot create resource "pods/binding"'):
        jane.bind(client.get(PODS, "p", "default"), "n")


def test_service_account_tokens_are_bound_to_their_pod(plane: ApiServerEmulator, client: KubeClient) -> None:
    assert plane.server.controllers.wait_idle(5)
    pod = client.create(
        PODS,
        {"metadata": {"name": "p", "namespace": "default"},
         "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}},
    )  # fmt: skip
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": pod["metadata"]["uid"]}
    made = plane.server.call("POST", path, {"spec": {"boundObjectRef": bound, "expirationSeconds": 900}})
    review = plane.server.call(
        "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": made["status"]["token"]}}
    )
    user = review["status"]["user"]
    assert user["username"] == "system:serviceaccount:default:default"
    assert user["extra"]["authentication.kubernetes.io/node-name"] == ["n1"]
    with pytest.raises(Exception, match="does not match the UID in record"):
        plane.server.call("POST", path, {"spec": {"boundObjectRef": {**bound, "uid": "other"}}})


def test_bad_tokens_and_anonymous_users_over_https(https_plane: ApiServerEmulator) -> None:
    transport = HttpTransport.from_kubeconfig(https_plane.kubeconfig)
    bad = transport.request("GET", "/api/v1/pods", headers={"Authorization": "Bearer nonsense"})
    assert bad.status == 401
    assert json.loads(bad.body) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }
    anonymous = transport.request("GET", "/api/v1/pods", headers={"Authorization": ""})
    assert anonymous.status == 403
    assert 'User "system:anonymous"' in json.loads(anonymous.body)["message"]
    assert transport.request("GET", "/healthz", headers={"Authorization": ""}).status == 200
    transport.close()


def test_kubeconfigs_are_private_and_work_for_their_user(https_plane: ApiServerEmulator) -> None:
    assert stat.S_IMODE(https_plane.kubeconfig.stat().st_mode) == 0o600
    assert stat.S_IMODE(https_plane.kubeconfig.parent.stat().st_mode) == 0o700
    user = User("jane", groups=("system:authenticated",))
    path = https_plane.write_kubeconfig(https_plane.kubeconfig.with_name("jane"), user)
    transport = HttpTransport.from_kubeconfig(path)
    with pytest.raises(Forbidden, match='User "jane"'):
        KubeClient(transport).list(PODS)
    transport.close()


def test_access_reviews(plane: ApiServerEmulator, client: KubeClient) -> None:
    rule = {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]}
    grant(client, "apps", [rule], {"kind": "ServiceAccount", "name": "sa", "namespace": "default"})
    name = "system:serviceaccount:default:sa"

    def allowed(group: str) -> bool:
        attributes = {"verb": "create", "group": group, "resource": "deployments", "namespace": "default"}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        answer = plane.server.call("POST", path, {"spec": {"user": name, "resourceAttributes": attributes}})
        return bool(answer["status"]["allowed"])

    assert allowed("apps")
    assert not allowed("batch")
    own = KubeClient(plane.transport_for(name))
    assert own.served("apps")


def test_impersonation_needs_a_right(plane: ApiServerEmulator, client: KubeClient) -> None:
    as_jane = {"Impersonate-User": "jane", "Impersonate-Group": "readers"}
    answer = plane.transport().request(
        "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=b"{}", headers=as_jane
    )
    assert json.loads(answer.body)["status"]["userInfo"] == {
        "username": "jane",
        "groups": ["readers", "system:authenticated"],
    }
    refused = plane.transport_for("bob").request("GET", "/version", headers=as_jane)
    assert refused.status == 403
    assert 'User "bob" cannot impersonate-on:user-info:get path "/version"' in json.loads(refused.body)["message"]


def test_several_groups_are_impersonated_by_a_header_each(https_plane: ApiServerEmulator) -> None:
    config = yaml.safe_load(https_plane.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    server = urlsplit(cluster["server"])
    connection = http.client.HTTPSConnection(
        server.hostname or "", server.port, context=ssl.create_default_context(cadata=authority)
    )
    connection.putrequest("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews")
    connection.putheader("Authorization", f"Bearer {config['users'][0]['user']['token']}")
    connection.putheader("Content-Length", "2")
    connection.putheader("Impersonate-User", "jane")
    connection.putheader("Impersonate-Group", "readers")
    connection.putheader("Impersonate-Group", "writers")
    connection.endheaders(b"{}")
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert answer["status"]["userInfo"]["groups"] == ["readers", "writers", "system:authenticated"]


def test_an_update_that_creates_needs_permission_to_create(plane: ApiServerEmulator, client: KubeClient) -> None:
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["update"]}
    grant(client, "updater", [rule], {"kind": "User", "name": "jane"})
    jane = KubeClient(plane.transport_for("jane"))
    lease = {"metadata": {"name": "a", "namespace": "default"}, "spec": {"holderIdentity": "jane"}}
    with pytest.raises(Forbidden, match='cannot create resource "leases"'):
        jane.update(LEASES, lease)
    client.create(LEASES, lease)
    jane.update(LEASES, client.get(LEASES, "a", "default"))


def test_tokens_end_with_what_they_are_bound_to(
    plane: ApiServerEmulator, client: KubeClient, pod: Callable[..., Obj], clock: AdvanceableClock
) -> None:
    def token(**spec: Obj) -> str:
        path = "/api/v1/namespaces/default/serviceaccounts/worker/token"
        return str(plane.server.call("POST", path, {"spec": spec})["status"]["token"])

    account = {"metadata": {"name": "worker", "namespace": "default"}}
    client.create(SERVICE_ACCOUNTS, account)
    made = client.create(PODS, pod("p", nodeName="n"))
    user = plane.server.authenticator.user
    bound = token(boundObjectRef={"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": made["metadata"]["uid"]})
    free = token()
    assert user(bound)
    assert user(free)
    client.delete(PODS, "p", "default")
    # The pod has its grace period of 30 s, and its token a minute more.
    clock.advance(89)
    assert user(bound)
    clock.advance(2)
    assert not user(bound)
    client.delete(PODS, "p", "default", grace_period_seconds=0)
    client.create(PODS, pod("p", nodeName="n"))
    assert not user(bound)
    assert user(free)
    client.delete(SERVICE_ACCOUNTS, "worker", "default")
    client.create(SERVICE_ACCOUNTS, account)
    assert not user(free)


def slice_of(node: str, name: str) -> Obj:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": [{"name": "d"}]}
    return {"metadata": {"name": name}, "spec": spec}


def test_nodes_have_access_to_their_own_objects(plane: ApiServerEmulator, client: KubeClient) -> None:
    client.create(RESOURCE_SLICES, slice_of("n2", "theirs"))
    node = KubeClient(plane.transport_for("system:node:n1", ["system:nodes"]))
    node.create(RESOURCE_SLICES, slice_of("n1", "mine"))
    with pytest.raises(Forbidden, match="same NodeName as the requesting node"):
        node.create(RESOURCE_SLICES, slice_of("n2", "other"))
    with pytest.raises(Forbidden) as refused:
        node.delete(RESOURCE_SLICES, "theirs")
    assert refused.value.message == (
        'resourceslices.resource.k8s.io "theirs" is forbidden: User "system:node:n1" cannot delete resource '
        '"resourceslices" in API group "resource.k8s.io" at the cluster scope: node: no relationship found between '
        "node 'n1' and this object"
    )
    with pytest.raises(Forbidden, match="can only list/watch/deletecollection resourceslices with nodeName"):
        node.list(RESOURCE_SLICES)
    own = node.list(RESOURCE_SLICES, field_selector="spec.nodeName=n1").items
    assert [o["metadata"]["name"] for o in own] == ["mine"]
    node.delete(RESOURCE_SLICES, "mine")


def test_nodes_have_access_to_their_pods_and_claims(plane: ApiServerEmulator, client: KubeClient) -> None:
    requests = [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]
    for name in ("used", "unused"):
        body = {"metadata": {"name": name, "namespace": "default"}, "spec": {"devices": {"requests": requests}}}
        client.create(RESOURCE_CLAIMS, body)
    spec: Obj = {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}
    spec["resourceClaims"] = [{"name": "c", "resourceClaimName": "used"}]
    client.create(PODS, {"metadata": {"name": "p", "namespace": "default"}, "spec": spec})
    node = KubeClient(plane.transport_for("system:node:n1", ["system:nodes"]))
    node.patch(PODS, "p", {"status": {"phase": "Running"}}, "default", subresource="status")
    assert node.get(RESOURCE_CLAIMS, "used", "default")
    with pytest.raises(Forbidden):
        node.get(RESOURCE_CLAIMS, "unused", "default")
    mirror: Obj = {"metadata": {"name": "m", "namespace": "default"}, "spec": spec}
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    with pytest.raises(Forbidden, match="can only create pods with an owner reference set to itself"):
        node.create(PODS, mirror)
    owner = client.create(NODES, {"metadata": {"name": "n1"}})["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": owner, "controller": True}
    mirror["metadata"]["ownerReferences"] = [reference]
    with pytest.raises(Forbidden, match="can not create pods that reference resourceclaims"):
        node.create(PODS, mirror)


def test_cluster_admin_is_a_role_that_bindings_can_name(plane: ApiServerEmulator, client: KubeClient) -> None:
    binding = {
        "metadata": {"name": "jane-rules"},
        "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "name": "jane"}],
    }
    client.create(CLUSTER_ROLE_BINDINGS, binding)
    jane = KubeClient(plane.transport_for("jane"))
    assert jane.list(CLUSTER_ROLES).items[0]["metadata"]["name"] == "cluster-admin"
