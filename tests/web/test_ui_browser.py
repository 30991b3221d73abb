"""Pages in a real browser: no error, no name that runs, and readable with any eye and width.

The browser is the chromium of this machine. Nothing is installed here: without one the tests are
skipped.
"""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Final, Literal
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tests.web.lake import HOSTILE, Lake
from tests.web.served import Served, rows_in, serving

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser")
NARROW: Final = 360
PHONE: Final = 400
WIDE: Final = 1280

Scheme = Literal["light", "dark"]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield a Chromium without a window, closed at the end of the module."""
    with (
        sync_playwright() as playwright,
        closing(playwright.chromium.launch(executable_path=CHROMIUM)) as browser,
    ):
        yield browser


ABORTED = "net::ERR_ABORTED"
CROSSED: Final = """() => {
  const boxes = kinds => [...document.querySelectorAll(kinds)].map(
    each => [each, each.getBoundingClientRect()]);
  const meet = (a, b) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const inner = box => ({left: box.left + 2, right: box.right - 2,
    top: box.top + 4, bottom: box.bottom - 4});
  const texts = boxes('svg.chart text');
  const others = [...texts, ...boxes('svg.chart line, svg.chart circle')];
  return texts.flatMap(([one, box]) => others
    .filter(([other, its]) => other !== one && meet(inner(box), its))
    .map(([other]) => one.textContent + ' and ' + (other.textContent || other.outerHTML)));
}"""
"""The texts of a picture that a line, a mark or another text crosses."""

BROKEN: Final = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    for (const word of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
      if (lines.size > 1) found.push(word[0] + ' in ' + node.parentElement.outerHTML);
    }
  }
  return found;
}"""
"""The words that stand on two lines."""


@contextmanager
def opened(
    browser: Browser, *, width: int = WIDE, scheme: Scheme = "light", scripts: bool = True
) -> Iterator[tuple[Page, list[str]]]:
    """Yield an empty page, and the errors that the browser tells of while the block runs."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=scripts
    )
    with closing(context):
        page = context.new_page()
        errors: list[str] = []
        page.on("console", lambda each: errors.append(each.text) if each.type == "error" else None)
        page.on("pageerror", lambda each: errors.append(str(each)))
        page.on("dialog", lambda each: errors.append(f"a name ran: {each.message}"))
        # A click may end the requests of the page that it leaves.
        page.on(
            "requestfailed",
            lambda each: errors.append(each.url) if each.failure != ABORTED else None,
        )
        yield page, errors


def check_pages(
    browser: Browser, served: Served, addresses: Iterable[str], width: int, scheme: Scheme
) -> None:
    """Check pages at a width and in a colour scheme."""
    axe, found = Axe(), dict[str, object]()
    with opened(browser, width=width, scheme=scheme) as (page, errors):
        for address in addresses:
            page.goto(f"{served.url}{address}")
            overflow = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert overflow <= 0, (address, overflow)
            problems = [
                (each["id"], [node["html"][:120] for node in each["nodes"]][:3])
                for each in axe.run(page).response["violations"]
            ]
            if problems:
                found[address] = problems
        assert errors == []
    assert found == {}


def test_narrow(browser: Browser, lake: Lake, served: Served) -> None:
    """On a small screen the page with most in it fits, and can be read by all."""
    address = f"/ui/conflict?position={lake.lost[2]}"
    check_pages(browser, served, [address], NARROW, "light")


@pytest.mark.parametrize("width", [PHONE, WIDE])
def test_no_word_is_broken(browser: Browser, lake: Lake, served: Served, width: int) -> None:
    """Names and paths are folded behind their marks; tables that are wider can be scrolled."""
    found: dict[str, list[str]] = {}
    with opened(browser, width=width) as (page, _):
        for address in (*lake.addresses(), f"/ui/table?table={lake.hostile}"):
            page.goto(f"{served.url}{address}")
            if broken := page.evaluate(BROKEN):
                found[address] = broken
    assert found == {}


@pytest.mark.slow
@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_any_screen_and_their_contrast_is_enough_in_both_schemes(
    browser: Browser, lake: Lake, served: Served, width: int, scheme: Scheme
) -> None:
    addresses = [*lake.addresses(), "/ui?at=9", f"/ui/table?table={lake.hostile}"]
    check_pages(browser, served, addresses, width, scheme)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_answers_to_queries_fit_any_screen_too(
    browser: Browser, lake: Lake, scheme: Scheme
) -> None:
    queries = ("SELECT 1 AS number, NULL AS nothing", "SELECT * FROM nowhere")
    addresses = [f"/ui/sql?{urlencode({'q': query})}" for query in queries]
    with serving(rows_in(lake), reads_rows=True) as served:
        check_pages(browser, served, [*addresses, "/ui/sql"], NARROW, scheme)


def test_slider(browser: Browser, lake: Lake, served: Served) -> None:
    """A moved slider shows the page as of there, by mouse and by keyboard."""
    with opened(browser) as (page, errors):
        page.goto(f"{served.url}/ui/tables")
        assert "As of position" in page.inner_text("main")
        slider = page.get_by_role("slider")
        slider.focus()
        page.keyboard.press("ArrowLeft")
        page.wait_for_url("**at=*")
        assert page.url.endswith(f"at={lake.head.position - 1}")
        assert f"As of position {lake.head.position - 1}" in page.inner_text("main")
        page.get_by_role("link", name="Newest").click()
        assert "the newest one" in page.inner_text("main")
        assert errors == []


def test_without_scripts_the_same_forms_work(browser: Browser, lake: Lake, served: Served) -> None:
    with opened(browser, scripts=False) as (page, _):
        page.goto(f"{served.url}/ui/table?table={lake.flights}")
        page.get_by_label("Exact position").fill("9")
        page.get_by_role("button", name="Go").click()
        assert page.url == f"{served.url}/ui/table?table={lake.flights}&at=9"
        page.get_by_role("slider").focus()
        page.keyboard.press("Home")
        page.get_by_role("button", name="Show").click()
        assert page.url.endswith("&at=0")


def test_three_clicks(browser: Browser, lake: Lake, served: Served) -> None:
    """From the overview, three clicks say who won, over which file, and what would have been."""
    row = lake.reads.conflicts(lake.lost[0] - 1, 1)[0]
    with opened(browser) as (page, errors):
        page.goto(f"{served.url}/ui")
        page.get_by_role("link", name=f"txn {row.txn} lost").click()
        said = page.inner_text("main")
        assert f"Txn {row.txn} lost to txn {row.evidence.winner.txn}" in said
        assert "day=1/1.parquet" in said
        assert "WriteSerializable would not have let it pass" in said
        page.goto(f"{served.url}/ui")
        page.get_by_label("Txn", exact=True).fill(str(row.txn))
        page.get_by_role("button", name="Show the txn").click()
        page.get_by_role("link", name=f"See why txn {row.txn} lost").click()
        assert "What if" in page.inner_text("main")
        assert errors == []


def test_keyboard(browser: Browser, served: Served) -> None:
    """The first stop of the keyboard leads past the menu, and each stop can be seen."""
    with opened(browser) as (page, _):
        page.goto(f"{served.url}/ui")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the page"
        for _ in range(20):
            page.keyboard.press("Tab")
            width = page.evaluate(
                "parseFloat(getComputedStyle(document.activeElement).outlineWidth)"
            )
            assert width >= 2


def test_pictures_are_as_wide_as_their_page(browser: Browser, lake: Lake, served: Served) -> None:
    with opened(browser) as (page, _):
        for address in (
            *("timeline", "activity", "conflict?txn=4"),
            *(f"{page}?table={lake.flights}" for page in ("history", "lineage", "partitions")),
        ):
            page.goto(f"{served.url}/ui/{address}")
            shares = page.evaluate(
                "[...document.querySelectorAll('svg.chart')].map(each => "
                "each.getBoundingClientRect().width / each.parentElement.clientWidth)"
            )
            assert {round(share, 2) for share in shares} == {1.0}, address
            crossed = page.evaluate(CROSSED)
            assert crossed == [], address


def test_hostile_names(browser: Browser, lake: Lake, served: Served) -> None:
    """A name that is a tag is shown as it is, and does nothing."""
    with opened(browser) as (page, errors):
        for address in (f"/ui/conflict?position={lake.lost[2]}", "/ui/open", "/ui"):
            page.goto(f"{served.url}{address}")
            assert HOSTILE in page.inner_text("main")
            assert page.locator("main img, main script").count() == 0
        assert errors == []
