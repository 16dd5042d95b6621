"""Expressions in objects become lines of a Helm template, and only in places in which they have a meaning."""

from __future__ import annotations

import pytest

from deploy.manifests.templating import Block, Each, Guarded, Hole, IfSet, Inline, Template
from dra_api.objects import Obj

OBJ: Obj = {"kind": "X", "spec": {"args": ["a", "b"], "image": "i:1", "boxes": [{"name": "n"}]}}


def text(path: tuple[str | int, ...], hole: Hole) -> str:
    template = Template()
    return template.text([template.put(OBJ, path, hole)])


def test_a_scalar_is_replaced_where_it_is() -> None:
    assert "\n  image: {{ .Values.image | quote }}\n" in text(("spec", "image"), Inline(".Values.image | quote"))
    assert "\n  - {{ .Values.b }}\n" in text(("spec", "args", 1), Inline(".Values.b"))


def test_a_scalar_is_a_part_of_a_text() -> None:
    template = Template()
    token = template.token(Inline(".Release.Namespace"))
    made = template.replaced(OBJ, lambda value: value.replace("i:", f"{token}-i:"))
    assert "\n  image: {{ .Release.Namespace }}-i:1\n" in template.text([made])


def test_a_mapping_has_the_indentation_of_its_field() -> None:
    assert "\n  image: {{- toYaml (.Values.image) | nindent 4 }}\n" in text(("spec", "image"), Block(".Values.image"))


def test_a_field_that_may_be_empty_is_there_only_if_it_is_set() -> None:
    lines = "{{- with .Values.nodes }}\n  nodes: {{- toYaml . | nindent 4 }}\n{{- end }}\n"
    assert text(("spec", "nodes"), IfSet(".Values.nodes")).endswith(lines)


def test_items_are_added_to_a_list() -> None:
    assert "  - b\n{{- range .Values.more }}\n  - {{ . | quote }}\n{{- end }}\n" in text(
        ("spec", "args", -1), Each(".Values.more")
    )
    assert "  - a\n{{- with .Values.one }}\n  - {{ . | quote }}\n{{- end }}\n  image:" in text(
        ("spec", "args", 1), IfSet(".Values.one")
    )


def test_an_object_can_have_a_condition() -> None:
    template = Template()
    made = template.text([{"kind": "A"}, Guarded("not .Values.claim", {"kind": "B"})])
    assert made == "---\nkind: A\n{{- if not .Values.claim }}\n---\nkind: B\n{{- end }}\n"


def test_the_object_itself_is_not_changed() -> None:
    before = repr(OBJ)
    text(("spec", "args", -1), Each(".Values.more"))
    assert repr(OBJ) == before


@pytest.mark.parametrize(
    ("path", "hole"),
    [
        (("spec", "image"), Each(".x")),  # a field has no items
        (("spec", "args", 0), Block(".x")),  # an item is a string
        (("spec", "boxes", 0, "name"), Block(".x")),  # the indentation of a first field is not known
    ],
)
def test_an_expression_in_a_wrong_place_is_an_error(path: tuple[str | int, ...], hole: Hole) -> None:
    with pytest.raises(ValueError, match=r"is a field|is no item|has to be a value"):
        text(path, hole)


def test_a_part_of_a_text_is_a_scalar() -> None:
    template = Template()
    with pytest.raises(ValueError, match="is a part of a string"):
        template.text([{"kind": f"A{template.token(Block('.x'))}B"}])


def test_a_path_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        text(("status", "x", "y"), Inline(".x"))
