"""Tests of report.html in a real browser: its width on a phone, filters, links and contrast."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import browser
import msgspec
import pytest
from browser import Tab
from invented_runs import InventedRun

from dra_conformance.components.gpus_on_node import of_inventory
from dra_conformance.core.events import (
    ApiWrite,
    Event,
    InventoryUsed,
    KubeletCall,
    NvmlChanged,
    ProgramOutput,
    ScenarioFinished,
)
from dra_conformance.report import build
from dra_conformance.report.html import render
from fake_nvml import Inventory

PHONE, DESKTOP = 390, 1280
LONG = "/dev/shm/" + "a-long-path-without-a-space" * 12  # noqa: S108 - a text, not a file
CLAIM = {"namespace": "ns", "name": "train", "uid": "1"}


def events() -> list[Event]:
    """A run with rules of all levels and statuses, and long words in each place that a target can fill."""
    run = InventedRun()
    run.scenario("must", ["DRA-001"], status="failed", reason=f"no {LONG}")
    run.scenario("should", ["DRA-002"], status="failed").scenario(
        "third", ["DRA-003"], status="untestable", reason=LONG
    )
    for number in range(4, 30):
        run.scenario(f"s{number}", [f"DRA-{number:03}"])
    run.scenario("left", ["DRA-090"], status="filtered", decided=True)
    run.rule("DRA-002", level="SHOULD")
    run.rule("DRA-005", level="SHOULD")
    found: list[Event] = []
    for event in run.events():
        if isinstance(event, ScenarioFinished) and "must" in event.scenario:
            seen = [
                ApiWrite(agent="kubelet", method="PATCH", path="/api/v1/nodes/n1/status", status=409, message=LONG),
                KubeletCall(
                    driver="d",
                    endpoint="/s",
                    service="v1.DRAPlugin",
                    method="NodePrepareResources",
                    request={"claims": [CLAIM]},
                    response={"claims": {"1": {"error": LONG}}},
                    code="OK",
                    seconds=0.1,
                    node="n1",
                ),
                InventoryUsed(name="mixed", gpus=of_inventory(Inventory.load("mixed"))),
                InventoryUsed(name=LONG, gpus=of_inventory(Inventory.load("dgx-h100-mig"))),
                NvmlChanged(node="n1", action="create", inventory=LONG),
                ProgramOutput(program="driver on n1", file=f"logs{LONG}.log", lines=(LONG, "panic: x")),
            ]
            found += [msgspec.structs.replace(one, scenario=event.scenario, time=event.time) for one in seen]
        found.append(event)
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(render(build(events())))
    return file


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    yield from browser.tab()


OPEN_ALL = "document.querySelectorAll('details').forEach(one => one.open = true)"
WIDER = """
[...document.querySelectorAll('body *')]
  .filter(one => !one.closest('.wide, pre') && one.getBoundingClientRect().right > innerWidth + 0.5)
  .map(one => one.outerHTML.slice(0, 120))
"""


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_the_page_never_scrolls_sideways(tab: Tab, page: Path, width: int) -> None:
    tab.open(page, width=width)
    for prepare in ("0", OPEN_ALL):
        tab.evaluate(prepare)
        assert tab.evaluate("innerWidth") == width
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(WIDER) == []


def shown(tab: Tab) -> set[str]:
    """The rules and failures that are visible, by the anchors of their rows."""
    rows = "[...document.querySelectorAll('.row')].filter(one => one.getClientRects().length).map(one => one.id)"
    return set(tab.evaluate(rows))


def test_filters_show_rules_and_failures_of_a_status_and_a_level(tab: Tab, page: Path) -> None:
    tab.open(page, width=DESKTOP)
    everything = shown(tab)
    assert {"failure-1", "failure-2", "failure-3", "rule-DRA-001", "rule-DRA-004"} <= everything
    tab.evaluate("document.querySelector('#only-failed').click()")
    assert shown(tab) == {"failure-1", "failure-2", "rule-DRA-001", "rule-DRA-002"}
    tab.evaluate("document.querySelector('#level-SHOULD').click()")
    assert shown(tab) == {"failure-2", "rule-DRA-002"}
    tab.evaluate("document.querySelector('#only-all').click()")
    assert shown(tab) == {"failure-2", "rule-DRA-002", "rule-DRA-005"}
    tab.evaluate("document.querySelector('#level-all').click()")
    assert shown(tab) == everything


def search(tab: Tab, words: str) -> str:
    """Type words into the search field, and return what it says about the number of hits."""
    field = "document.querySelector('#search')"
    tab.evaluate(f"{field}.value = '{words}', {field}.dispatchEvent(new Event('input')), 0")
    return str(tab.evaluate("document.querySelector('#found').textContent"))


def test_a_search_shows_what_has_all_of_its_words(tab: Tab, page: Path) -> None:
    tab.open(page, width=PHONE)
    everything, folded = shown(tab), tab.evaluate("document.querySelectorAll('main details[open]').length")
    assert tab.evaluate("document.querySelector('#search').getClientRects().length") == 1
    assert search(tab, "dra-001").endswith(" found")
    assert "rule-DRA-001" in shown(tab)
    assert "rule-DRA-002" not in shown(tab)
    assert search(tab, "no such words") == "0 found"
    assert shown(tab) == set()
    assert tab.evaluate(
        "[...document.querySelectorAll('[id^=chapter-] tr')].every(one => !one.getClientRects().length)"
    )
    # A rule of a folded part, in another case and order than in the page.
    assert search(tab, "dra-090") != "0 found"
    assert shown(tab) == {"rule-DRA-090"}
    assert search(tab, "") == ""
    assert (shown(tab), tab.evaluate("document.querySelectorAll('main details[open]').length")) == (everything, folded)


def test_a_link_to_what_a_search_hides_ends_the_search(tab: Tab, page: Path) -> None:
    tab.open(page, width=DESKTOP)
    search(tab, "no such words")
    changed = "new Promise(done => {{ addEventListener('hashchange', done, {{once: true}}); location.hash = '{}' }})"
    tab.evaluate(f"{changed.format('rule-DRA-002')}.then(() => 0)")
    assert "rule-DRA-002" in shown(tab)
    assert tab.evaluate("document.querySelector('#search').value") == ""


def test_no_script_of_a_program_under_test_can_run(tab: Tab, page: Path) -> None:
    """Escaping prevents it already; the page's policy is the second wall."""
    tab.open(page, width=DESKTOP)
    tab.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">'), 0")
    added = "Object.assign(document.createElement('script'), {textContent: 'window.ran = 2'})"
    tab.evaluate(f"document.body.append({added}), 0")
    assert tab.evaluate("window.ran ?? 0") == 0


def test_every_link_of_the_page_leads_to_a_place(tab: Tab, page: Path) -> None:
    tab.open(page, width=PHONE)
    links = "[...document.querySelectorAll('a[href^=\"#\"]')].map(one => one.getAttribute('href'))"
    names = set(tab.evaluate(links))
    assert {"#failures", "#rules", "#scenarios", "#rule-DRA-001", "#failure-1", "#chapter-probe"} <= names
    assert tab.evaluate(f"{links}.filter(name => !document.getElementById(name.slice(1)))") == []


@pytest.mark.parametrize("anchor", ["rule-DRA-029", "rule-DRA-090", "failure-2"])
def test_an_anchor_shows_its_rule_below_the_navigation(tab: Tab, page: Path, anchor: str) -> None:
    """Also one in a part of the page that is folded, which the browser unfolds for it."""
    tab.open(page, width=PHONE)
    tab.evaluate(f"location.hash = '{anchor}'")
    place = f"document.getElementById('{anchor}').getBoundingClientRect()"
    frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    tab.evaluate(frames)
    found = tab.evaluate(f"(place => [place.top, place.height])({place})")
    assert found[1] > 0, f"{anchor} is not shown"
    bottom = tab.evaluate("document.querySelector('nav').getBoundingClientRect().bottom")
    assert bottom - 1 <= found[0] < 844


# The colours of a text and of the nearest background that is not transparent, by the formula of WCAG 2.1 (1.4.3).
CONTRAST = """
(() => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const linear = value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const behind = one => {
    for (let at = one; at; at = at.parentElement) {
      const found = channels(getComputedStyle(at).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
  };
  const hasText = one => [...one.childNodes].some(node => node.nodeType == 3 && node.data.trim());
  const found = [];
  for (const one of document.querySelectorAll('body *')) {
    if (!hasText(one) || !one.getClientRects().length) continue;
    const style = getComputedStyle(one);
    const ink = channels(one.closest('svg') ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(one))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${one.outerHTML.slice(0, 90)}`);
  }
  return found;
})()
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_contrast_of_all_text_is_enough(tab: Tab, page: Path, dark: bool) -> None:
    tab.open(page, width=DESKTOP, dark=dark)
    tab.evaluate(OPEN_ALL)
    assert tab.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is dark
    assert tab.evaluate(CONTRAST) == []
    tab.evaluate("document.documentElement.style.setProperty('--soft', '#808890')")
    assert tab.evaluate(CONTRAST) or dark, "the measure finds nothing"


def test_a_failure_has_a_picture_of_its_messages(tab: Tab, page: Path) -> None:
    tab.open(page, width=PHONE)
    lanes = "[...document.querySelectorAll('#failure-1 .lane')].map(one => one.textContent)"
    assert tab.evaluate(lanes) == ["test", "API server", "kubelet", "driver"]
    broken = "[...document.querySelectorAll('#failure-1 .broken .label')].map(one => one.textContent)"
    assert [text.partition(" /")[0] for text in tab.evaluate(broken)] == [
        "check DRA-001: it holds",
        "PATCH nodes/status n1 -> 409",
        "NodePrepareResources claim train: error",
    ]
    # It scrolls in its own frame, and its text is not shrunk to the width of a phone.
    assert tab.evaluate("(one => one.scrollWidth > one.clientWidth)(document.querySelector('#failure-1 .wide'))")
