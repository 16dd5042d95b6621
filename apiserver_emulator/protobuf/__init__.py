"""Kubernetes' protobuf wire format for built-in kinds: `application/vnd.kubernetes.protobuf` to plain objects and back.

Go clients (kube-scheduler, kubelet, controllers, many drivers) send bodies in this format. The messages are those of
k8s.io/api, built by the protobuf library from generated descriptors. Decoding is strict: a field that no descriptor has
is an error that names message and number, since dropping it would change the object without notice.

Source: k8s.io/apimachinery pkg/runtime/serializer/protobuf (envelope), generated.proto files of k8s.io/api (fields).
"""

from apiserver_emulator.protobuf.envelope import MAGIC, decode, decode_events, encode, encode_event
from apiserver_emulator.protobuf.errors import ProtobufError

__all__ = ["MAGIC", "ProtobufError", "decode", "decode_events", "encode", "encode_event"]
