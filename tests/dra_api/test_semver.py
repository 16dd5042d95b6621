"""Semantic versions by https://semver.org and, for messages, github.com/blang/semver v4.0.0."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_api.semver import SemVer, SemVerError

# semver.org section 11, the examples in ascending order.
ASCENDING = [
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1",
    "1.2.0",
    "1.10.0",
    "2.0.0",
]

REFUSED = [
    ("", "Version string empty"),
    ("1", "No Major.Minor.Patch elements found"),
    ("1.2", "No Major.Minor.Patch elements found"),
    ("v1.2.3", 'Invalid character(s) found in major number "v1"'),
    ("1.x.3", 'Invalid character(s) found in minor number "x"'),
    ("1.2.3.4", 'Invalid character(s) found in patch number "3.4"'),
    ("01.2.3", 'Major number must not contain leading zeroes "01"'),
    ("1.02.3", 'Minor number must not contain leading zeroes "02"'),
    ("1.2.03", 'Patch number must not contain leading zeroes "03"'),
    ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
    ("1.2.3-", "Prerelease is empty"),
    ("1.2.3-a..b", "Prerelease is empty"),
    ("1.2.3-a_b", 'Invalid character(s) found in prerelease "a_b"'),
    ("1.2.3+", "Build meta data is empty"),
    ("1.2.3+a_b", 'Invalid character(s) found in build meta data "a_b"'),
    ("1..3", 'strconv.ParseUint: parsing "": invalid syntax'),
    ("99999999999999999999.0.0", 'strconv.ParseUint: parsing "99999999999999999999": value out of range'),
]


def test_precedence() -> None:
    versions = [SemVer.parse(text) for text in ASCENDING]
    shuffled = versions[1::2] + versions[::2]
    assert sorted(shuffled) == versions
    for index, version in enumerate(versions):
        for other_index, other in enumerate(versions):
            assert version.compare(other) == (index > other_index) - (index < other_index)


def test_build_metadata_does_not_count() -> None:
    first, second = SemVer.parse("1.2.3+a"), SemVer.parse("1.2.3+b")
    assert first == second
    assert hash(first) == hash(second)
    assert str(first) == "1.2.3+a"


def test_parts() -> None:
    version = SemVer.parse("1.2.3-rc.1.x-y+build.007")
    assert (version.major, version.minor, version.patch) == (1, 2, 3)
    assert version.prerelease == ("rc", 1, "x-y")
    assert version.build == ("build", "007")
    assert pickle.loads(pickle.dumps(version)) == version  # noqa: S301 - our own bytes
    with pytest.raises(AttributeError):
        version.major = 2
    assert (version == "1.2.3") is False


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(SemVerError) as caught:
        SemVer.parse(text)
    assert str(caught.value) == message
    assert not SemVer.is_valid(text)


# k8s.io/apiserver/pkg/cel/library/semverlib.go normalizeAndParse (Kubernetes 1.33).
@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("v1.2.3", "1.2.3"),
        ("1", "1.0.0"),
        ("v1.2", "1.2.0"),
        ("01.002.0003", "1.2.3"),
        ("00.0.0", "0.0.0"),
        ("1.2.3-alpha+b", "1.2.3-alpha+b"),
        ("1.2.03-rc", "1.2.3-rc"),
    ],
)
def test_normalize(text: str, normal: str) -> None:
    assert str(SemVer.parse(text, normalize=True)) == normal


@pytest.mark.parametrize("text", ["", "v", "vv1", "1-alpha", "1.2+b", " 1.2.3", "1.2.3.4", "1.a"])
def test_normalize_does_not_take_everything(text: str) -> None:
    assert not SemVer.is_valid(text, normalize=True)


NUMBER = st.integers(0, 2**64 - 1)
PART = st.one_of(NUMBER, st.text("abz-", min_size=1, max_size=4))


@settings(max_examples=300, derandomize=True, deadline=None)
@given(NUMBER, NUMBER, NUMBER, st.lists(PART, max_size=3), st.lists(st.text("a0-", min_size=1, max_size=3), max_size=2))
def test_printed_text_parses_back(major: int, minor: int, patch: int, pre: list[int | str], build: list[str]) -> None:
    version = SemVer(major, minor, patch, prerelease=tuple(pre), build=tuple(build))
    again = SemVer.parse(str(version))
    assert again == version
    assert str(again) == str(version)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.text("0123.-+vab é", max_size=12))
def test_text_is_read_or_refused(text: str) -> None:
    if SemVer.is_valid(text):
        assert str(SemVer.parse(text)) == text
