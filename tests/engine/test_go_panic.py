"""The cause of a Go panic is found in the output of a program."""

from __future__ import annotations

from dra_conformance.core import go_panic

PANIC = """\
I1126 09:17:16.359840 serving
panic: assignment to entry in nil map [recovered, repanicked]

goroutine 54 [running]:
k8s.io/dynamic-resource-allocation/kubeletplugin.(*grpcServer).interceptor.func1()
\tk8s.io/dynamic-resource-allocation@v0.37.2/kubeletplugin/nonblockinggrpcserver.go:154 +0x11e
panic({0x1c56960?, 0x341d690?})
\truntime/panic.go:860 +0x13a
main.(*driver).prepare(0x1b3cd9eee870, 0x1b3cd9f55040)
\texample.com/driver/main.go:119 +0xa3a
main.(*driver).PrepareResourceClaims(0x1b3cd9eee870)
\texample.com/driver/main.go:74 +0xb1
google.golang.org/grpc.(*Server).serveStreams.func2.1()
\tgoogle.golang.org/grpc@v1.82.1/server.go:1078 +0x7f

goroutine 1 [chan receive]:
main.main()
\texample.com/driver/main.go:9 +0x1
exit status 2
"""
FATAL = """\
fatal error: concurrent map writes

goroutine 8 [running]:
internal/runtime/maps.fatal({0x1, 0x2})
\tinternal/runtime/maps/panic.go:1046 +0x18
main.(*driver).watch(0x1)
\texample.com/driver/watch.go:12 +0x1
created by main.main in goroutine 1
\texample.com/driver/main.go:9 +0x1
"""


def test_handlers_of_the_panic_are_left_out() -> None:
    assert go_panic.excerpt(PANIC.splitlines()) == [
        "panic: assignment to entry in nil map [recovered, repanicked]",
        "main.(*driver).prepare(0x1b3cd9eee870, 0x1b3cd9f55040)",
        "\texample.com/driver/main.go:119 +0xa3a",
        "main.(*driver).PrepareResourceClaims(0x1b3cd9eee870)",
        "\texample.com/driver/main.go:74 +0xb1",
    ]


def test_the_last_panic_counts_and_the_runtime_is_left_out() -> None:
    found = go_panic.excerpt((PANIC + FATAL).splitlines())
    assert found[:3] == [
        "fatal error: concurrent map writes",
        "main.(*driver).watch(0x1)",
        "\texample.com/driver/watch.go:12 +0x1",
    ]


def test_the_place_of_a_panic_is_its_first_frame() -> None:
    assert go_panic.place(PANIC.splitlines()) == "driver/main.go:119"
    assert go_panic.place((PANIC + FATAL).splitlines()) == "driver/watch.go:12"
    assert go_panic.place(["panic: out of memory"]) == ""


def test_output_without_a_panic_or_without_a_stack() -> None:
    assert go_panic.excerpt(["no panic", "goroutine 1 [running]:"]) == []
    assert go_panic.excerpt(["panic: out of memory"]) == ["panic: out of memory"]
