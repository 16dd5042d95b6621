"""The table of resource types while another thread adds one."""

from collections.abc import Iterator

from apiserver_emulator.resource_types import ResourceTable, ResourceType


def resource(group: str, versions: tuple[str, ...] = ("v1",)) -> ResourceType:
    """A resource type with the kind Thing."""
    return ResourceType(group=group, plural="things", kind="Thing", versions=versions, storage_version="v1")


class ChangingVersions(tuple[str, ...]):
    """Versions that add a resource type when they are read: a write in the middle of a read, without threads."""

    table: ResourceTable

    def __iter__(self) -> Iterator[str]:
        self.table.add(resource("added.example.com"))
        return super().__iter__()


def test_groups_while_a_group_is_added() -> None:
    table = ResourceTable()
    versions = ChangingVersions(("v1",))
    versions.table = table
    table.add(resource("first.example.com", versions))
    table.add(resource("second.example.com", versions))

    # The answer is that of the moment at which the read began.
    assert list(table.groups()) == ["first.example.com", "second.example.com"]
    assert list(table.groups()) == ["first.example.com", "second.example.com", "added.example.com"]
