"""The page in a real browser, Chromium, without and with a pointer, wide and narrow."""

import os
import shutil

import pytest
from PIL import Image

sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDE, NARROW = {"width": 1300, "height": 900}, {"width": 360, "height": 740}
SECONDS = 60_000  # milliseconds that a busy machine may need


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"] if os.geteuid() == 0 else [], timeout=SECONDS
        )
        yield running
        running.close()


@pytest.fixture(scope="module")
def server(explorer, serve):
    return serve(explorer)


class Visit:
    """One visitor with a window of their own on the page, and what went wrong in it."""

    def __init__(self, browser, server, viewport=WIDE, **options):
        self.context = browser.new_context(viewport=viewport, accept_downloads=True, **options)
        self.context.set_default_timeout(SECONDS)
        self.page = self.context.new_page()
        self.mistakes = []
        self.page.on("pageerror", lambda error: self.mistakes.append(str(error)))
        self.page.on("console", lambda line: self.mistakes.append(line.text) if line.type == "error" else None)
        self.page.goto(server.address)
        self.settle()

    def settle(self, after=0):
        """Wait until more than `after` mixes have been shown and none is under way."""
        self.page.wait_for_function(
            "after => { const stage = document.querySelector('#stage');"
            " return Number(stage.dataset.answers ?? 0) > after && !('asking' in stage.dataset); }",
            arg=after,
        )

    def doing(self, action):
        """Do something and wait for the mix that it leads to."""
        before = int(self.page.locator("#stage").get_attribute("data-answers"))
        action()
        self.settle(before)

    def source(self, panel="mixed"):
        return self.page.locator(f"[data-panel={panel}]").get_attribute("src")

    def changes(self, action, panel="mixed"):
        """Whether something that is done changes a panel."""
        before = self.source(panel)
        self.doing(action)
        return self.source(panel) != before

    def use_contrast(self):
        self.doing(lambda: self.page.select_option("#source-kind", "contrast"))


@pytest.fixture(scope="module")
def shared_visit(browser, server):
    """One window for all tests that leave the page as they found it, up to the settings."""
    visit = Visit(browser, server)
    visit.use_contrast()
    yield visit
    visit.context.close()


@pytest.fixture
def visit(shared_visit):
    shared_visit.mistakes.clear()
    shared_visit.doing(lambda: shared_visit.page.click("#reset"))
    yield shared_visit
    assert shared_visit.mistakes == []


@pytest.fixture
def new_visit(browser, server):
    opened = []

    def open_window(**options):
        opened.append(Visit(browser, server, **options))
        return opened[-1]

    yield open_window
    for one in opened:
        one.context.close()


def press(visit, selector, key):
    visit.page.locator(selector).focus()
    visit.page.keyboard.press(key)


# ---- it is all there -------------------------------------------------------------------------------------------------


def test_everything_is_there_at_once(visit):
    page = visit.page
    page.wait_for_function(
        "() => [...document.images].every(image => !image.src || (image.complete && image.naturalWidth))"
    )
    assert page.title() == "Puzzle Mix explorer"
    assert page.locator("[data-panel]").count() == 8
    assert page.locator("#strip-first input").count() >= 10
    assert page.locator("#beside article").count() == 3
    assert page.locator("#energy tr").count() == 5
    page.wait_for_function("() => [...document.querySelectorAll('.mixes img')].every(image => image.naturalWidth)")
    assert "%" in page.inner_text("#ratio-first")


def test_the_key_does_not_stay_in_sight(visit):
    assert "key" not in visit.page.url


def test_without_the_key_there_is_only_a_word(browser, server):
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{server.port}/")
    assert "needs its key" in page.inner_text("h1")
    page.close()


# ---- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lam", "beta", "gamma", "eta", "xi", "grid", "labels"])
def test_every_slider_moves_by_the_keys_and_changes_the_answer(visit, name):
    before = visit.page.inner_text("#energy")
    number = visit.page.input_value(f"#number-{name}")
    visit.doing(lambda: press(visit, f"#range-{name}", "ArrowRight"))
    visit.doing(lambda: press(visit, f"#range-{name}", "Home"))
    assert visit.page.input_value(f"#number-{name}") == visit.page.get_attribute(f"#range-{name}", "min") != number
    assert name == "xi" or visit.page.inner_text("#energy") != before


def test_the_picture_follows_the_share(visit):
    assert visit.changes(lambda: press(visit, "#range-lam", "End"))
    assert visit.page.inner_text("#ratio-first") == "100 % star"
    assert visit.changes(lambda: press(visit, "#range-lam", "Home"))
    assert visit.page.inner_text("#ratio-first") == "0 % star"


def test_a_number_can_be_typed(visit):
    def type_it():
        visit.page.fill("#number-grid", "5")
        visit.page.keyboard.press("Tab")

    assert visit.changes(type_it, "mask")
    assert visit.page.input_value("#range-grid") == "5"
    assert "5 \N{MULTIPLICATION SIGN} 5" in visit.page.inner_text("#pooled-title")


def test_what_cannot_be_meant_is_told_and_forgotten(visit):
    visit.page.fill("#number-gamma", "2")
    visit.page.keyboard.press("Tab")
    alert = visit.page.locator("#stage-alert")
    alert.wait_for()
    assert "gamma=2" in alert.inner_text()
    visit.mistakes.clear()  # the browser notes every refusal
    visit.doing(lambda: visit.page.click("#reset"))
    assert alert.is_hidden()


def test_transport_is_chosen_by_the_keys(visit):
    visit.doing(lambda: press(visit, "#transport :checked", "ArrowLeft"))
    assert "nothing moves" in visit.page.inner_text("[data-words=first_moves]")
    visit.doing(lambda: press(visit, "#transport :checked", "ArrowLeft"))
    assert visit.page.locator("#transport [value=exact]").is_checked()


def test_the_seed_moves_the_rectangle(visit):
    cutmix = visit.page.locator("#beside article:nth-child(3) img")
    before = cutmix.get_attribute("src")
    visit.doing(lambda: press(visit, "#range-seed", "ArrowRight"))
    assert cutmix.get_attribute("src") != before


def test_a_draw_takes_lambda_and_grid_from_the_seed(visit):
    page = visit.page
    visit.doing(lambda: page.click("#draw"))
    first = page.input_value("#number-lam"), page.input_value("#number-grid")
    visit.doing(lambda: page.click("#draw"))
    assert (page.input_value("#number-lam"), page.input_value("#number-grid")) != first
    assert page.input_value("#number-seed") == "2"


def test_a_mix_of_a_row_is_taken_by_a_click(visit):
    visit.doing(lambda: visit.page.click("#row-lam [data-value='0.8']"))
    assert visit.page.input_value("#number-lam") == "0.8"
    assert visit.page.get_attribute("#row-lam [data-value='0.8']", "aria-pressed") == "true"


# ---- pictures --------------------------------------------------------------------------------------------------------


def test_pictures_are_chosen_by_the_keys_and_swapped(visit):
    assert visit.changes(lambda: press(visit, "#strip-second :checked", "ArrowRight"), "second")
    names = [visit.page.inner_text(f"[data-words={side}]") for side in ("first", "second")]
    assert visit.changes(lambda: visit.page.click("#swap"), "first")
    assert [visit.page.inner_text(f"[data-words={side}]") for side in ("second", "first")] == names
    visit.doing(lambda: visit.page.click("#swap"))
    visit.doing(lambda: press(visit, "#strip-second :checked", "ArrowLeft"))


def test_a_file_is_uploaded(new_visit, photo):
    visit = new_visit()
    file = {"name": "<b>spot.png", "mimeType": "image/png", "buffer": photo}
    assert visit.changes(lambda: visit.page.set_input_files(".side.first [type=file]", file), "first")
    assert visit.page.inner_text("[data-words=first]") == "<b>spot"
    assert visit.page.locator("#strip-first input").count() == visit.page.locator("#strip-second input").count()
    assert visit.mistakes == []


def test_two_files_are_dropped_at_once(new_visit, photo, file_of):
    visit = new_visit()
    other = file_of(Image.new("L", (50, 40), 200), "jpeg")

    def drop():
        visit.page.evaluate(
            """files => {
                const data = new DataTransfer();
                for (const [name, bytes] of files) data.items.add(new File([new Uint8Array(bytes)], name));
                const place = document.querySelector('.side.second');
                place.dispatchEvent(new DragEvent('dragover', {dataTransfer: data, bubbles: true, cancelable: true}));
                place.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
            }""",
            [["one.png", list(photo)], ["two.jpg", list(other)]],
        )
        visit.page.wait_for_function("() => document.querySelector('[data-words=first]').textContent == 'two'")

    assert visit.changes(drop)
    assert visit.page.inner_text("[data-words=second]") == "one"


def test_what_is_no_picture_is_told(new_visit, photo):
    visit = new_visit()
    alert = visit.page.locator("#pictures-alert")
    visit.page.set_input_files(
        ".side.first [type=file]", {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"no picture"}
    )
    alert.wait_for()
    assert "notes.txt" in alert.inner_text()
    visit.doing(
        lambda: visit.page.set_input_files(
            ".side.first [type=file]", {"name": "spot.png", "mimeType": "image/png", "buffer": photo}
        )
    )
    assert alert.is_hidden()


def test_what_is_too_large_is_told_before_it_is_sent(new_visit, tmp_path, explorer):
    with open(tmp_path / "huge.png", "wb") as file:
        file.truncate(explorer.most_bytes + 1)
    visit = new_visit()
    visit.page.set_input_files(".side.first [type=file]", tmp_path / "huge.png")
    visit.page.locator("#pictures-alert").wait_for()
    assert visit.page.inner_text("#pictures-alert").startswith("huge.png is larger than 64 MiB")


def test_a_batch_of_a_data_set_is_fetched(new_visit):
    visit = new_visit()
    page = visit.page
    page.click("summary")
    page.fill("#batch-name", "synthetic")
    count = page.locator("#strip-first input").count()
    assert visit.changes(lambda: page.keyboard.press("Enter"))
    assert page.locator("#strip-first input").count() == count + 12
    page.fill("#batch-name", "sinthetic")
    page.keyboard.press("Enter")
    page.locator("#pictures-alert").wait_for()
    assert "did you mean synthetic" in page.inner_text("#pictures-alert")


def test_two_visitors_at_once_have_pictures_of_their_own(new_visit, photo):
    mine, theirs = new_visit(), new_visit()
    file = {"name": "mine.png", "mimeType": "image/png", "buffer": photo}
    mine.doing(lambda: mine.page.set_input_files(".side.first [type=file]", file))
    key = mine.page.locator("#strip-first :checked").get_attribute("value")
    status = "async key => (await fetch('/picture/' + key)).status"
    assert (mine.page.evaluate(status, key), theirs.page.evaluate(status, key)) == (200, 400)


# ---- saliency --------------------------------------------------------------------------------------------------------


def test_the_source_of_saliency_can_be_changed(new_visit):
    visit = new_visit()
    page = visit.page
    assert "small classifier" in page.inner_text("#source-words")
    assert visit.changes(visit.use_contrast, "first_saliency")
    assert "contrast" in page.inner_text("#source-words")
    page.select_option("#source-kind", "torchvision")
    page.keyboard.type("alexnet")  # the tests of answers have a resnet18
    page.keyboard.press("Enter")
    page.locator("#source-alert").wait_for()
    assert "not on disk" in page.inner_text("#source-alert")
    page.select_option("#source-kind", "run")
    page.fill("#source-name", "/no/such/run")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#source-alert').textContent.includes('/no/such/run')")
    assert visit.changes(visit.use_contrast, "mixed") is False
    assert page.locator("#source-alert").is_hidden()


# ---- taking along ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("button", "name"), [("#figure", "puzzlemix.png"), ("#rows-figure", "puzzlemix-rows.png")])
def test_pictures_are_downloaded(visit, button, name):
    with visit.page.expect_download() as download:
        visit.page.click(button)
    assert download.value.suggested_filename == name
    with Image.open(download.value.path()) as image:
        assert image.format == "PNG"
        assert image.width > 1000


@pytest.mark.parametrize("kind", ["python", "config"])
def test_settings_are_copied(visit, kind):
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.page.click(f"[data-copy={kind}]")
    visit.page.wait_for_function(f"() => document.querySelector('[data-copy={kind}]').textContent == 'Copied'")
    copied = visit.page.evaluate("navigator.clipboard.readText()")
    assert copied == visit.page.input_value(f"#{kind}")
    assert ("mix_pictures" if kind == "python" else '"beta": 1.2') in copied


# ---- keyboard, screen readers, windows -------------------------------------------------------------------------------


def test_everything_can_be_reached_and_is_labelled(visit):
    nameless = visit.page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, textarea, summary, [tabindex="0"]')]
            .filter(one => one.checkVisibility())
            .filter(one => !one.getAttribute('aria-label') && !one.labels?.[0]?.textContent.trim())
            .filter(one => !one.textContent.trim())
            .map(one => one.outerHTML)"""
    )
    assert nameless == []
    without_words = "[...document.images].filter(one => one.dataset.panel && !one.alt).length"
    assert visit.page.evaluate(without_words) == 0
    assert visit.page.get_by_role("slider", name="λ share of the first").count() == 1
    assert visit.page.get_by_role("radiogroup").or_(visit.page.get_by_role("group", name="First picture")).count() == 1


def test_one_gets_through_the_page_by_the_tab_key(visit):
    visit.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    seen = []
    for _ in range(60):
        visit.page.keyboard.press("Tab")
        seen.append(
            visit.page.evaluate(
                "document.activeElement.id || document.activeElement.name || document.activeElement.className"
            )
        )
    for wanted in (
        "skip",
        "range-lam",
        "transport",
        "draw",
        "picture-first",
        "swap",
        "source-kind",
        "mask",
        "figure",
        "python",
    ):
        assert wanted in seen
    assert seen.index("range-lam") < seen.index("picture-first") < seen.index("mask") < seen.index("python")


def test_changes_are_spoken(visit):
    visit.doing(lambda: press(visit, "#range-lam", "End"))
    visit.page.wait_for_function("() => document.querySelector('#status').textContent.includes('100 % star')")
    assert visit.page.get_attribute("#status", "role") == "status"


def test_blocks_are_led_through_by_the_keys(visit):
    press(visit, "#mask", "ArrowRight")
    assert visit.page.inner_text("#readout").startswith("Row 1, column 1:")
    visit.page.keyboard.press("ArrowDown")
    visit.page.keyboard.press("ArrowRight")
    assert visit.page.inner_text("#readout").startswith("Row 2, column 2:")
    assert visit.page.locator("#mask .cell").count() == 1


def test_pointing_at_a_block_tells_of_it(visit):
    visit.page.locator("[data-panel=mixed]").hover(position={"x": 3, "y": 3})
    assert visit.page.inner_text("#readout").startswith("Row 1, column 1:")
    assert visit.page.locator(".cell").count() >= 6


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_a_phone_shows_it_all(new_visit):
    visit = new_visit(viewport=NARROW, has_touch=True, is_mobile=True)
    page = visit.page
    assert overflow(page) == 0
    page.locator("#range-beta").scroll_into_view_if_needed()
    page.locator("#peek").wait_for()  # the mix stays in sight
    before = page.get_attribute("#peek-mixed", "src")
    visit.doing(lambda: press(visit, "#range-lam", "End"))
    assert page.get_attribute("#peek-mixed", "src") != before
    small = page.evaluate(
        "[...document.querySelectorAll('button, select')].filter(one => one.checkVisibility()"
        " && one.getBoundingClientRect().height < 24).map(one => one.outerHTML)"
    )
    assert small == []
    page.click("summary")
    assert overflow(page) == 0
    assert visit.mistakes == []


@pytest.mark.parametrize("width", [600, 800, 1000])
def test_no_width_needs_sideways_scrolling(visit, width):
    visit.page.set_viewport_size({"width": width, "height": 800})
    found = overflow(visit.page)
    visit.page.set_viewport_size(WIDE)
    assert found == 0


CONTRASTS = """() => {
    const channels = text => text.match(/[\\d.]+/g).map(Number);
    const linear = c => c <= 10.3 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4;
    const light = rgb => [0.2126, 0.7152, 0.0722].reduce((sum, weight, k) => sum + weight * linear(rgb[k]), 0);
    const ground = one => { for (; one; one = one.parentElement) {
        const found = channels(getComputedStyle(one).backgroundColor);
        if (found.length < 4 || found[3] > 0) return found;
    } };
    const kinds = 'h1, h2, h3, p, legend, label, dt, dd, th, td, figcaption, button, summary, textarea';
    const texts = [...document.querySelectorAll(kinds)].filter(one => one.checkVisibility() && !one.closest('.unseen'));
    return texts.filter(one => one.textContent.trim()).map(one => {
        const [a, b] = [light(channels(getComputedStyle(one).color)), light(ground(one))];
        return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), one.outerHTML.slice(0, 80)];
    }).filter(([ratio]) => ratio < 4.5);
}"""


def test_text_stands_out_in_light_and_dark(visit):
    assert visit.page.evaluate(CONTRASTS) == []
    visit.page.click("#theme")
    assert visit.page.evaluate("document.documentElement.dataset.theme") == "dark"
    found = visit.page.evaluate(CONTRASTS)
    visit.page.click("#theme")
    assert found == []


def test_the_window_may_be_dark_from_the_start(new_visit):
    page = new_visit(color_scheme="dark").page
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 21, 26)"
    assert page.inner_text("#theme") == "Light"


# ---- when things go wrong --------------------------------------------------------------------------------------------


def test_a_lost_session_says_to_reload(new_visit):
    visit = new_visit()
    visit.context.clear_cookies()
    press(visit, "#range-lam", "End")
    visit.page.locator("#stage-alert").wait_for()
    assert "reload" in visit.page.inner_text("#stage-alert")


def test_a_server_that_ended_is_told(new_visit):
    visit = new_visit()
    visit.page.route("**/mix", lambda route: route.abort())
    press(visit, "#range-lam", "End")
    visit.page.locator("#stage-alert").wait_for()
    assert "still running" in visit.page.inner_text("#stage-alert")
    visit.page.unroute("**/mix")
    visit.doing(lambda: press(visit, "#range-lam", "Home"))
    assert visit.page.locator("#stage-alert").is_hidden()
