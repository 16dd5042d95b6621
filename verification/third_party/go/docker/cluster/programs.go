package main

import (
	"os"
	"path/filepath"
)

const (
	etcd         = "etcd"
	apiServer    = "kube-apiserver"
	controllers  = "kube-controller-manager"
	scheduler    = "kube-scheduler"
	kubelet      = "kubelet"
	programs     = "/bin" // where the image holds Kubernetes' programs and etcd
	admin        = "/etc/rancher/k3s/k3s.yaml"
	firstService = "10.43.0.1" // of k3s' range of services
)

// layout is where the files of one server lie, in the container.
type layout string

func (l layout) file(name string) string { return filepath.Join(string(l), name) }

// write makes every file that a program is given: the authority, the API server's certificate, the key of service
// accounts and a kubeconfig for every identity.
func (l layout) write(names []string) error {
	if err := os.MkdirAll(string(l), 0o700); err != nil {
		return err
	}
	made, err := newAuthority()
	if err != nil {
		return err
	}
	server, err := made.server(names)
	if err != nil {
		return err
	}
	own, err := made.client("system:admin", "system:masters")
	if err != nil {
		return err
	}
	account, err := signingKey()
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"ca.crt": made.pem, "server.crt": server.certificate, "server.key": server.key, "sa.key": account,
		"admin.crt": own.certificate, "admin.key": own.key,
	} {
		if err := os.WriteFile(l.file(name), text, 0o600); err != nil {
			return err
		}
	}
	for path, user := range map[string]string{
		l.file(controllers): "system:kube-controller-manager",
		l.file(scheduler):   "system:kube-scheduler",
	} {
		if err := made.kubeconfig(path, user); err != nil {
			return err
		}
	}
	if err := made.kubeconfig(l.file(kubelet), "system:node:"+nodeName(), "system:nodes"); err != nil {
		return err
	}
	return made.kubeconfig(admin, "system:admin", "system:masters")
}

// flags are a program's own, as k3s sets them: one etcd without TLS on the container's loopback in place of k3s' own
// store, no election of leaders, and everything else as the release has it.
func (l layout) flags(program string) []string {
	switch program {
	case etcd:
		return []string{
			"data-dir=" + l.file("etcd"),
			"listen-client-urls=http://127.0.0.1:2379",
			"advertise-client-urls=http://127.0.0.1:2379",
			"listen-peer-urls=http://127.0.0.1:2380",
			"unsafe-no-fsync=true",
			"log-level=warn",
		}
	case apiServer:
		return []string{
			"allow-privileged=true",
			"authorization-mode=Node,RBAC",
			"bind-address=0.0.0.0",
			"cert-dir=" + l.file("served"),
			"client-ca-file=" + l.file("ca.crt"),
			"enable-admission-plugins=NodeRestriction",
			"etcd-servers=http://127.0.0.1:2379",
			"secure-port=6443",
			"service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"service-account-key-file=" + l.file("sa.key"),
			"service-account-signing-key-file=" + l.file("sa.key"),
			"service-cluster-ip-range=10.43.0.0/16",
			"tls-cert-file=" + l.file("server.crt"),
			"tls-private-key-file=" + l.file("server.key"),
		}
	case controllers:
		return []string{
			"controllers=*,tokencleaner",
			"kubeconfig=" + l.file(controllers),
			"leader-elect=false",
			"root-ca-file=" + l.file("ca.crt"),
			"secure-port=0",
			"service-account-private-key-file=" + l.file("sa.key"),
			"use-service-account-credentials=true",
		}
	}
	return []string{"kubeconfig=" + l.file(scheduler), "leader-elect=false", "secure-port=0"}
}
