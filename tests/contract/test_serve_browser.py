"""What a person does with the page, in a real Chromium: search, refine, open a place, read on; by keyboard, at night,
on a phone. Nothing is loaded from elsewhere, no policy is broken, the console stays empty."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support.serving import HERONS, HOSTILE_PATH, Served, make_served

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here")

CONTRAST = """
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = (colour) => {
    const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = Array.from(rgba(colour)).map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (rgba(colour)[3] > 0) return colour;
    }
    return getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "#000" : "#fff";
  };
  const low = [];
  for (const element of document.querySelectorAll("body *")) {
    const words = Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!words || !element.checkVisibility()) continue;
    const [one, other] = [light(getComputedStyle(element).color), light(ground(element))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < 4.5) low.push([element.outerHTML.slice(0, 80), ratio]);
  }
  return low;
}
"""
UNLABELLED = """
() => Array.from(document.querySelectorAll("input:not([type=hidden]), select"))
  .filter((field) => field.labels.length === 0).map((field) => field.outerHTML)
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return make_served(tmp_path_factory.mktemp("browsed"))


@pytest.fixture(scope="module")
def address(served: Served) -> Iterator[str]:
    with served.process() as address:
        yield address


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that must load nothing from elsewhere and leave the console empty."""
    context = chromium.new_context(base_url=address, **getattr(request, "param", {}))
    page = context.new_page()
    told: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield page
    context.close()
    assert [words for words in told if not re.search(r"status of (401|422)", words)] == []
    assert [url for url in asked if not url.startswith(f"{address}/")] == []


def asked(page: Page) -> dict[str, list[str]]:
    """What the address of the page asks."""
    return parse_qs(urlsplit(page.url).query, keep_blank_values=True)


def test_search_refine_open_a_place_and_read_on_in_the_room(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_label("What are you looking for?")).to_be_focused()
    page.keyboard.type("heron at the pond")
    page.keyboard.press("Enter")
    expect(page.locator(".hit").first).to_be_visible()
    assert asked(page) == {"texts": ["heron at the pond"]}, "what nobody filled in is not in the address"
    expect(page.locator("mark").first).to_have_text("Heron", ignore_case=True)

    page.get_by_text("Filters", exact=True).click()
    page.get_by_label(HERONS).check()
    page.get_by_label("Before", exact=True).fill("2026-01-02")
    page.get_by_role("button", name="Search").last.click()
    assert asked(page) == {
        "texts": ["heron at the pond"],
        "rooms": ["!herons:example.org"],
        "before": ["2026-01-02"],
    }
    expect(page.get_by_label(HERONS)).to_be_checked()
    for title in page.locator(".group h3").all():
        expect(title).to_have_text(HERONS)

    page.locator(".hit .place a").first.click()
    assert urlsplit(page.url).path.startswith("/chat/")
    expect(page.get_by_role("heading", name=HERONS)).to_be_visible()
    expect(page.locator("li.meant")).to_have_count(1)
    page.get_by_role("link", name="Later").click()
    expect(page.locator("li.meant")).to_contain_text("Heron number 7")
    page.get_by_role("link", name="Search this room").click()
    expect(page.get_by_label(HERONS)).to_be_checked()


def test_places_of_one_text_are_folded_and_have_permalinks(page: Page) -> None:
    page.goto("/?texts=kingfisher&repos=repo&top_k=1")
    summary = page.get_by_text("The same text in 9 other places")
    place = page.locator(".places a").first
    expect(place).to_be_hidden()
    summary.click()
    expect(place).to_be_visible()
    assert str(place.get_attribute("href")).startswith("https://forge.example.org/repo/blob/")
    assert place.get_attribute("rel") == "noopener noreferrer"


def test_the_keyboard_goes_to_the_question_from_hit_to_hit_and_opens_one(page: Page) -> None:
    page.goto("/?texts=heron+number&corpora=chat&top_k=3&mode=words&by=chunk")
    hits = page.locator(".hit")
    page.keyboard.press("j")
    expect(hits.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(hits.nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("/")
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.type("jjo/k")
    assert page.locator("#text").input_value() == "jjo/k"
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url("**/chat/**")


@pytest.mark.parametrize("page", [{"java_script_enabled": False}], indirect=True)
def test_without_scripts_everything_is_there_too(page: Page) -> None:
    page.goto("/")
    page.get_by_label("What are you looking for?").fill("heron")
    page.get_by_role("button", name="Search").first.click()
    expect(page.locator(".hit").first).to_be_visible()
    expect(page.locator(".problem")).to_have_count(0)


@pytest.mark.parametrize(
    "page", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True, ids=["light", "dark"]
)
def test_by_day_and_at_night_all_words_can_be_read_and_all_fields_have_names(page: Page, served: Served) -> None:
    grounds = set()
    message = f"/chat/{served.events['heron3']}"
    for address in ("/?texts=heron&mode=words&texts=nobody_7", "/status", message, "/?texts=x&top_k=99"):
        page.goto(address)
        page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate(UNLABELLED) == []
        expect(page.get_by_role("main")).to_have_count(1)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 1
    is_dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert (sum(int(part) for part in grounds.pop()[4:-1].split(",")) < 384) == is_dark


@pytest.mark.parametrize("page", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
def test_on_a_phone_nothing_runs_out_of_the_page(page: Page, served: Served) -> None:
    for address in ("/?texts=hostile&texts=heron&mode=words", "/status", f"/chat/{served.events['hostile']}"):
        page.goto(address)
        page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_where_the_focus_is_can_be_seen(page: Page) -> None:
    page.goto("/?texts=heron")
    for _ in range(6):
        page.keyboard.press("Tab")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_hostile_words_stay_in_their_box(page: Page) -> None:
    page.goto("/?texts=hostile&mode=words")
    assert page.locator(".quote").filter(has_text="<script>alert(1)</script>").count() >= 2
    assert page.locator("main img, main script").count() == 0
    expect(page.locator(".problem, .missing")).to_have_count(0)
    expect(page.get_by_role("heading", name=HOSTILE_PATH.replace("\u202e", "\\u202e"))).to_have_count(1)


def test_who_needs_a_token_logs_in_and_comes_to_what_was_asked(page: Page, served: Served) -> None:
    secret = served.token("ann", "forge")["authorization"].removeprefix("Bearer ")
    try:
        page.goto("/?texts=heron")
        page.get_by_label("Token").fill(secret)
        page.get_by_role("button", name="Log in").click()
        expect(page.locator(".hit").first).to_be_visible()
        expect(page.get_by_label("Messages")).to_have_count(0)
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("Token")).to_be_visible()
    finally:
        served.without_tokens()
