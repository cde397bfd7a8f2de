"""The page in a browser: what a reader looks for is there, it fits a telephone, and nothing is asked of the network."""

import shutil

import pytest

from fast_share import THOROUGH
from preflearn.report import write_report
from report.conftest import QUICK

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (pip install playwright)")

ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    """Chromium of the system."""
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield opened
        opened.close()


class Visit:
    """An open page, with everything it asked for and complained about."""

    def __init__(self, browser, path, width, scheme="light"):
        self.requests, self.complaints = [], []
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        self.page = context.new_page()
        self.page.on("request", lambda one: self.requests.append(one.url))
        self.page.on("console", lambda one: self.complaints.append(one.text))
        self.page.on("pageerror", lambda one: self.complaints.append(str(one)))
        self.page.on("dialog", lambda one: (self.complaints.append(one.message), one.dismiss()))
        self.page.goto(path.as_uri())
        self.page.wait_for_load_state("networkidle")

    def ask(self, script):
        return self.page.evaluate(script)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*QUICK, "many"] if THOROUGH else ["coffee", "currents", "hostile", "many"])
def test_the_page_asks_for_nothing_and_fits_a_telephone(browser, name, result_of, tmp_path):
    path = tmp_path / "report.html"
    write_report(result_of(name), path, title="<img src=http://example.org/x.png>" if name == "hostile" else None)
    for width in (360, 1280):
        visit = Visit(browser, path, width)
        assert visit.requests == [path.as_uri()]
        assert visit.complaints == []
        visit.ask("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert visit.ask("document.documentElement.scrollWidth") <= width
        assert visit.ask("[...document.querySelectorAll('svg')].every(one => one.getBoundingClientRect().height > 20)")
        visit.page.context.close()


@pytest.mark.slow
def test_a_reader_finds_the_main_parts(browser, result_of, tmp_path):
    path = tmp_path / "report.html"
    write_report(result_of("club"), path, title="Chess club", source="club.csv")
    visit = Visit(browser, path, 1280)
    page = visit.page
    assert page.title() == "Chess club"
    assert page.get_by_role("heading", level=1).inner_text() == "Chess club"
    for heading in ("Ranking", "Can it be ranked?", "Calibration", "What to compare next", "Data", "Model"):
        assert page.get_by_role("heading", name=heading, exact=True).is_visible()
    first = str(result_of("club").ranking.names[0])
    assert first in page.locator("#answer").inner_text()
    assert page.get_by_role("img", name="Utilities of 6 items with intervals").is_visible()
    assert page.get_by_role("img", name="Comparison graph").is_visible()
    table = page.get_by_role("region", name="Ranking of 6 items, the best first")
    assert table.get_by_role("row").count() == 7
    page.get_by_role("link", name="What to compare next").click()
    assert page.evaluate("location.hash") == "#next"
    assert visit.complaints == []


@pytest.mark.slow
def test_dark_on_screens_that_ask_for_it_and_light_on_paper(browser, result_of, tmp_path):
    path = tmp_path / "report.html"
    write_report(result_of("two"), path)
    lightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number).reduce((a, b) => a + b)"
    assert Visit(browser, path, 800, "light").ask(lightness) > 700
    dark = Visit(browser, path, 800, "dark")
    assert dark.ask(lightness) < 150
    dark.page.emulate_media(media="print", color_scheme="dark")
    assert dark.ask(lightness) > 700
    assert dark.ask("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert dark.page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.slow
def test_this_test_would_see_a_request(browser, result_of, tmp_path):
    path = tmp_path / "report.html"
    write_report(result_of("two"), path)
    spoiled = path.read_text(encoding="utf-8").replace("</main>", '<img src="http://127.0.0.1:9/x.png"></main>')
    path.write_text(spoiled, encoding="utf-8")
    visit = Visit(browser, path, 360)
    assert visit.complaints or len(visit.requests) > 1


@pytest.mark.slow
def test_the_table_can_be_sorted_and_searched(browser, result_of, tmp_path):
    path = tmp_path / "report.html"
    write_report(result_of("many"), path)
    visit = Visit(browser, path, 1280)
    page = visit.page
    rows = page.locator("#items tbody tr")
    assert rows.count() == 230
    worst = result_of("many").ranking.names[-1]
    page.get_by_role("button", name="utility").click()
    assert worst in rows.first.inner_text()
    page.get_by_role("searchbox").fill(worst.upper())
    assert worst in [row.split("\t")[2] for row in page.locator("#items tbody tr:visible").all_inner_texts()]
    assert page.locator("#items tbody tr:visible").count() < 30
    with page.expect_download() as file:
        page.get_by_role("link", name="Download the table").click()
    assert file.value.suggested_filename == "ranking.csv"
    assert visit.complaints == []
