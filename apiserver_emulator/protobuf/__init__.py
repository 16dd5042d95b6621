"""Kubernetes' protobuf wire format for built-in kinds: `application/vnd.kubernetes.protobuf` to plain objects and back.

Go clients (kube-scheduler, kubelet, controllers, many drivers) send bodies in this format. The envelope is four magic
bytes and a `runtime.Unknown`; what is inside follows a table of field numbers, `messages.json.gz`, written by
`tools/gen_protobuf_tables.py` and read once a process. Nothing is lost silently: a field number that the table does
not know is an error that names message and number.

Source: k8s.io/apimachinery pkg/runtime/serializer/protobuf (envelope), generated.proto files of k8s.io/api (numbers).
"""

from apiserver_emulator.protobuf.envelope import MAGIC, decode, encode
from apiserver_emulator.protobuf.wire import ProtobufError

__all__ = ["MAGIC", "ProtobufError", "decode", "encode"]
