import pytest

from puzzlemix.drawing import draw_panel, figure_bytes, save_figure

MAGIC = {
    ".png": b"\x89PNG",
    ".pdf": b"%PDF",
    ".svg": b"<?xml",
    ".jpg": b"\xff\xd8",
    ".jpeg": b"\xff\xd8",
    ".webp": b"RIFF",
}


@pytest.fixture(scope="module")
def figure(batch_of):
    return draw_panel(batch_of().example(), "first_moves", width=1)


@pytest.mark.parametrize("suffix", [*MAGIC, ".PNG"])
def test_the_ending_says_what_is_written(figure, tmp_path, suffix):
    path = save_figure(figure, str(tmp_path / "new" / "folders" / f"mix.v2{suffix}"))
    assert path.read_bytes().startswith(MAGIC[suffix.lower()])
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["mix", "mix.bmp", ".png"])
def test_an_unknown_ending_is_refused_before_anything_is_written(figure, tmp_path, name):
    with pytest.raises(
        ValueError, match=r"does not end like a picture: choose one of \.png, \.pdf, \.svg, \.jpg, \.webp"
    ):
        save_figure(figure, tmp_path / "folder" / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["png", "pdf", "jpg", "webp"])
def test_the_same_figure_gives_the_same_bytes(figure, kind):
    assert figure_bytes(figure, kind) == figure_bytes(figure, kind)


def test_an_unknown_kind_is_refused(figure):
    with pytest.raises(ValueError, match="cannot be written as 'bmp': choose one of png, pdf"):
        figure_bytes(figure, "bmp")


def test_a_file_is_replaced_whole_or_not_at_all(figure, tmp_path, monkeypatch):
    path = tmp_path / "mix.png"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("puzzlemix.files.os.replace", fail)
        with pytest.raises(OSError, match="disk full"):
            save_figure(figure, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    save_figure(figure, path)
    assert path.read_bytes() == figure_bytes(figure)


def test_a_saved_file_has_the_usual_permissions(figure, tmp_path):
    (tmp_path / "plain").touch()
    assert save_figure(figure, tmp_path / "mix.png").stat().st_mode == (tmp_path / "plain").stat().st_mode
