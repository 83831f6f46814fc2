import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import matplotlib
import matplotlib.style
import numpy as np
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.offsetbox import TextArea

from puzzlemix.drawing import CATALOGUE, Cell, draw_examples, draw_grid, draw_mix, draw_panel, figure_bytes
from puzzlemix.drawing.catalogue import DEFAULT


def draw(batch, **options):
    return draw_mix(batch.mixed, batch.images, batch.saliency, **options)


def titles(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts if text.get_text()]


def captions(figure):
    return [area.get_text() for axes in figure.axes for area in axes.findobj(TextArea)]


def test_a_row_for_each_sample(batch_of):
    batch = batch_of()
    figure = draw(batch, sample=[2, 0])
    assert len(figure.axes) == 2 * len(DEFAULT)
    assert titles(figure) == ["First image", "Second image", "Mask", "First, moved", "Second, moved", "Mixed"]
    for axes, sample in ((figure.axes[2], 2), (figure.axes[8], 0)):
        np.testing.assert_array_equal(axes.images[0].get_array(), batch.mixed.mask[sample].numpy())


def test_a_column_for_each_signal(batch_of):
    figure = draw(batch_of(size=(50,), grid=6), sample=[0, 1], panels=["first", "mask"])
    assert titles(figure) == ["First signal", "Mask"]
    first, other, below, _ = (axes.get_position() for axes in figure.axes)
    assert first.y0 == other.y0 > below.y1
    assert first.x1 < other.x0


def test_panels_and_titles_are_chosen(batch_of):
    figure = draw(batch_of(), panels=["mixed", "first_saliency"], titles={"mixed": "$lambda"})
    assert titles(figure) == ["$lambda", "First saliency"]
    assert len(figure_bytes(figure)) > 1000


def test_captions_tell_names_ratio_and_moves(batch_of):
    batch = batch_of(grid=8)
    example = batch.example(names=["cat", "dog", "$owl"])
    words = captions(draw_examples([example]))
    percent = round(100 * example.ratio)
    assert words[:2] == ["cat", "dog"]
    assert words[-2:] == [f"{percent} % cat", f"{100 - percent} % dog"]
    assert f"{len(example.first.moves)} of {example.first.seen} moved" in words


def test_captions_without_names_and_transport(batch_of):
    words = captions(draw(batch_of(transport=None, labels=2)))
    assert words[:2] == ["first", "second"]  # the mask's: unnamed images need no caption
    assert words.count("no transport") == 2


def test_texts_do_not_reach_into_the_next_panel(batch_of):
    batch = batch_of()
    names = ["an endlessly long name of a class", "golden retriever", "x"]
    figure = draw(batch, names=names, panels=list(CATALOGUE))
    figure_bytes(figure)  # lays out the texts
    renderer = figure.canvas.get_renderer()
    for axes in figure.axes:
        panel = axes.get_window_extent()
        for text in (*axes.findobj(TextArea), *(text for text in axes.texts if text.get_text())):
            box = text.get_window_extent(renderer)
            assert panel.x0 - 0.06 * figure.dpi <= box.x0 <= box.x1 <= panel.x1 + 0.06 * figure.dpi


def test_only_all_is_all(batch_of):
    batch = batch_of(grid=1)
    for ratio, words in ((1.0, ["100 % first", "0 % second"]), (0.999, ["99 % first", "1 % second"])):
        batch.mixed.ratio.fill_(ratio)
        assert captions(draw(batch, panels=["mixed"])) == words


def test_any_panels_in_a_grid(batch_of):
    examples = [batch_of(lam=lam).example() for lam in (0.2, 0.8)]
    rows = [[Cell(e, "mixed", f"{e.ratio:.2f}") for e in examples], [Cell(examples[0], "mask")]]
    figure = draw_grid(rows, captions=False)
    assert len(figure.axes) == 3
    assert captions(figure) == []


def test_edges_of_panels_are_edges_of_pixels(batch_of):
    figure = draw(batch_of(size=(20, 34)), width=7.77)
    for axes in figure.axes:
        corners = axes.get_window_extent().get_points()
        np.testing.assert_allclose(corners, corners.round(), atol=1e-6)


def test_no_pyplot_figure_is_left(batch_of):
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    figure_bytes(draw(batch_of()))
    assert pyplot.get_fignums() == before


def test_a_style_sheet_changes_nothing(batch_of):
    batch = batch_of(grid=8)
    signal = batch_of(size=(50,), grid=6)
    plain = [figure_bytes(draw(b, panels=list(CATALOGUE), width=12)) for b in (batch, signal)]
    settings = {
        "image.origin": "lower",
        "font.size": 20,
        "savefig.bbox": "tight",
        "savefig.dpi": 50,
        "lines.marker": "o",
    }
    with matplotlib.style.context("dark_background"), matplotlib.rc_context(settings):
        assert [figure_bytes(draw(b, panels=list(CATALOGUE), width=12)) for b in (batch, signal)] == plain


def test_threads_draw_the_same(batch_of):
    batches = [batch_of(grid=8), batch_of(size=(50,), grid=6)]
    alone = [figure_bytes(draw(batch)) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda k: figure_bytes(draw(batches[k % 2])), range(12)))
    assert together == alone * 6


def test_the_font_comes_with_matplotlib():
    assert "DejaVuSans" in matplotlib.font_manager.findfont(
        FontProperties(family="DejaVu Sans"), fallback_to_default=False
    )


def test_matplotlib_is_imported_on_first_use():
    code = "import sys, puzzlemix.drawing; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_extra_is_named(batch_of, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "puzzlemix\[draw\]"'):
        draw(batch_of())


def test_errors_name_the_value_and_the_remedy(batch_of):
    batch = batch_of()
    example, signal = batch.example(), batch_of(size=(50,)).example()
    for call, message in (
        (lambda: draw(batch, panels=["masque"]), "panel 'masque' is not known: choose among 'first'"),
        (lambda: draw_panel(example, "masque"), "panel 'masque' is not known"),
        (lambda: draw(batch, sample=[]), "0 samples and 6 panels: pass at least one"),
        (lambda: draw(batch, panels=[]), "1 samples and 0 panels: pass at least one"),
        (lambda: draw(batch, width=0.5), "6 panels do not fit into 0.5 inches: pass a larger width"),
        (lambda: draw_grid([]), "pass at least one row"),
        (lambda: draw_grid([[]]), "pass at least one row"),
        (lambda: draw_examples([example, signal]), "images and signals: draw a figure of each"),
        (lambda: draw(batch, titles={"masque": "Mask"}), "panel 'masque' is not known"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
