import base64
import io
import json
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from puzzlemix.explorer import sources
from puzzlemix.explorer.mixes import ROWS
from puzzlemix.explorer.sessions import MOST_PICTURES, Session
from puzzlemix.explorer.settings import Settings, read_settings
from puzzlemix.showing import Saliency, contrast_saliency
from puzzlemix.training.config import TrainConfig

PANELS = {"first", "second", "first_saliency", "second_saliency", "mask", "first_moves", "second_moves"}
CONTRAST = {"kind": "contrast"}


def pixels(url):
    """The picture in a data URL, as (H,W,3)."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB")).astype(int)


def test_there_are_pictures_at_once(explorer, session):
    start = explorer.start()
    assert len(start["gallery"]) >= 10
    shown = Image.open(io.BytesIO(explorer.thumbnail(session, start["gallery"][0]["key"])))
    assert shown.size == (64, 64)


def test_every_panel_is_a_picture(mix):
    answer = mix()
    assert set(answer["panels"]) == PANELS
    for panel in answer["panels"].values():
        assert pixels(panel).std() > 5
    assert pixels(answer["mixed"]).shape == (64, 64, 3)


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("lam", 0.3, 0.7),
        ("beta", 0.0, 8.0),
        ("gamma", 0.0, 1.0),
        ("eta", 0.1, 1.5),
        ("xi", 0.0, 1.0),
        ("grid", 7, 8),
        ("labels", 2, 3),
        ("transport", "none", "paper"),
    ],
)
def test_every_setting_changes_the_mix(mix, name, one, other):
    usual = {"beta": 4.0, "xi": 0.1, "grid": 12}
    assert mix(**usual | {name: one})["mixed"] != mix(**usual | {name: other})["mixed"]


def test_exact_transport_costs_no_more(mix):
    costs = [mix(transport=name, xi=0.3, grid=12)["figures"]["plan_cost"] for name in ("paper", "exact")]
    assert costs[1] <= costs[0]


def test_the_seed_places_the_rectangle_alone(mix):
    one, other = mix(seed=0), mix(seed=1)
    assert one["beside"]["cutmix"] != other["beside"]["cutmix"]
    assert one["mixed"] == other["mixed"]
    assert one["beside"]["mixup"] == other["beside"]["mixup"]


def test_what_stands_beside_is_of_the_same_pair_and_share(explorer, session, mix, file_of):
    white, black = (
        explorer.upload(session, file_of(Image.new("RGB", (64, 64), name)), f"{name}.png")["key"]
        for name in ("white", "black")
    )
    beside = mix(white, black, lam=0.3, seed=4)["beside"]
    assert np.abs(pixels(beside["mixup"]["image"]) - 0.3 * 255).max() < 2
    assert beside["mixup"]["kept"] == pytest.approx({"first": 0.3, "second": 0.7})
    pasted = pixels(beside["cutmix"]["image"])[..., 0] < 128
    assert beside["cutmix"]["ratio"] == pytest.approx(1 - pasted.mean(), abs=1e-6)
    assert beside["cutmix"]["kept"] == pytest.approx({"first": 1 - pasted.mean(), "second": pasted.mean()}, abs=1e-4)


def test_the_share_of_the_first_follows_lam(mix):
    ratios = [mix(lam=lam, eta=1.0)["figures"]["ratio"] for lam in (0, 0.1, 0.5, 0.9, 1)]
    assert ratios == sorted(ratios)
    assert (ratios[0], ratios[-1]) == (0, 1)


def test_blocks_say_where_everything_came_from(mix):
    answer = mix(xi=0.05, grid=7)
    cells = answer["cells"]
    assert (cells["rows"], cells["cols"], len(cells["mask"])) == (7, 7, 49)
    for number, side in enumerate(("first", "second")):
        weight = [1 - share if number else share for share in cells["mask"]]
        source = cells[side]["source"]
        assert sorted(source) == list(range(49))
        moved = sum(one != place and weight[place] > 0 for place, one in enumerate(source))
        assert moved == answer["figures"]["moved"][number]
        kept = sum(share * cells[side]["share"][one] for share, one in zip(weight, source, strict=True))
        assert kept == pytest.approx(answer["figures"]["kept"][side], abs=1e-3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lam": 1.5}, "lam=1.5"),
        ({"gamma": 2.0}, "gamma=2.0"),
        ({"grid": 1}, "grid=1"),
        ({"grid": 4.5}, "a whole number"),
        ({"labels": 9}, "labels=9"),
        ({"beta": -1.0}, "beta=-1.0"),
        ({"beta": float("nan")}, "beta=nan"),
        ({"transport": "fast"}, "transport"),
        ({"seed": -1}, "seed=-1"),
        ({"gird": 8}, "did you mean grid"),
    ],
)
def test_what_cannot_be_meant_is_named(mix, settings, words):
    with pytest.raises(ValueError, match=words):
        mix(**settings)


@pytest.mark.parametrize("name", list(ROWS))
def test_rows_are_mixes_in_which_one_value_rises(explorer, session, mix, name):
    settings = {"beta": 4.0, "grid": 12} if name == "gamma" else {}
    request = {"first": "drawn-5", "second": "drawn-28", "source": CONTRAST, "settings": settings}
    row = explorer.row(session, request, name)["mixes"]
    assert [one["value"] for one in row] == sorted(ROWS[name])
    usual = getattr(Settings(), name)
    assert next(one["image"] for one in row if one["value"] == usual) == mix(**settings)["mixed"]
    assert len({one["image"] for one in row}) > 1


def test_an_unknown_row_is_named(explorer, session):
    with pytest.raises(ValueError, match="no row 'size'"):
        explorer.row(session, {"first": "drawn-5", "second": "drawn-28", "source": CONTRAST}, "size")


def test_downloads_show_all_panels_and_rows(explorer, session):
    request = {"first": "drawn-5", "second": "drawn-28", "source": CONTRAST, "settings": {"grid": 4}}
    for content in (explorer.figure(session, request), explorer.rows_figure(session, request)):
        with Image.open(io.BytesIO(content)) as image:
            assert image.format == "PNG"
            assert image.width > 1500
            assert len(image.convert("RGB").getcolors(1 << 24)) > 1000


def test_training_draws_what_the_page_draws(explorer):
    drawn = [explorer.draw({"seed": seed, "beta": 3.0}) for seed in range(12)]
    assert len({one["lam"] for one in drawn}) > 6
    assert {one["grid"] for one in drawn} <= {2, 4, 8, 16}
    assert all(one["beta"] == 3.0 for one in drawn)
    assert explorer.draw({"seed": 3}) == explorer.draw({"seed": 3})


# ---- text to take along ---------------------------------------------------------------------------------------------


def same_mix(answer, folder, monkeypatch):
    """Run the Python in `folder` and compare its mix with the one that was shown."""
    monkeypatch.chdir(folder)
    names = {}
    exec(answer["python"], names)
    shown, found = pixels(answer["mixed"]), names["mixed"].permute(1, 2, 0).numpy() * 255
    assert float(names["ratio"]) == pytest.approx(answer["figures"]["ratio"])
    assert np.abs(shown - found).mean() < 6  # what JPEG takes
    assert names["mix"].mixed.mask.flatten(1)[0].tolist() == pytest.approx(answer["cells"]["mask"], abs=1e-4)
    assert names["mix"].mixed.first_source is None or (
        names["mix"].mixed.first_source[0].tolist() == answer["cells"]["first"]["source"]
    )
    assert (folder / "mix.png").exists()


@pytest.mark.parametrize("settings", [{"transport": "exact", "xi": 0.1, "grid": 6}, {"transport": "none", "labels": 5}])
def test_the_python_gives_the_same_mix(mix, tmp_path, monkeypatch, settings):
    same_mix(mix(lam=0.35, **settings), tmp_path, monkeypatch)


def test_the_python_reads_files_and_data_sets(explorer, session, mix, tmp_path, monkeypatch, photo):
    (tmp_path / "my photo's.png").write_bytes(photo)
    own = explorer.upload(session, photo, "my photo's.png")
    batch = explorer.batch(session, {"name": "synthetic"})["pictures"]
    same_mix(mix(own["key"], batch[1]["key"]), tmp_path, monkeypatch)


def test_the_python_uses_the_same_network(mix, tmp_path, monkeypatch):
    answer = mix(source={"kind": "classifier"})
    assert "small_classifier()" in answer["python"]
    same_mix(answer, tmp_path, monkeypatch)


def test_the_config_trains_with_the_same_settings(mix):
    settings = {"beta": 2.5, "gamma": 0.25, "eta": 0.7, "xi": 0.1, "labels": 4, "grid": 6, "transport": "none"}
    config = TrainConfig.from_json(mix(**settings)["config"])
    assert config.method == "puzzle"
    assert config.settings.mix == read_settings(settings).mixing.mix
    assert config.settings.grids == (6,)
    assert json.loads(mix()["config"])["settings"]["grids"] == [8]


# ---- pictures of one's own -------------------------------------------------------------------------------------------


def test_an_uploaded_picture_is_mixed(explorer, session, mix, photo):
    own = explorer.upload(session, photo, "spot.png")
    assert own["name"] == "spot"
    answer = mix(own["key"])
    assert answer["names"] == ["spot", "heart"]
    assert answer["mixed"] != mix()["mixed"]


@pytest.mark.parametrize("mode", ["RGBA", "L", "LA", "P", "1", "CMYK", "I;16", "F"])
@pytest.mark.parametrize("extent", [(1, 1), (3000, 1), (37, 53)])
def test_every_kind_of_picture_can_be_shown(explorer, session, file_of, mode, extent):
    image = Image.new(mode, extent) if mode == "I;16" else Image.new("RGB", extent, (200, 30, 90)).convert(mode)
    own = explorer.upload(session, file_of(image, "tiff"), "odd.tif")
    with Image.open(io.BytesIO(explorer.thumbnail(session, own["key"]))) as shown:
        assert (shown.mode, shown.size) == ("RGB", (64, 64))


@pytest.mark.parametrize("content", [b"", b"GIF89a", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"\0" * 5000])
def test_what_is_no_picture_is_refused_by_name(explorer, session, content):
    with pytest.raises(ValueError, match=r"notes\.txt .* is no image that can be read") as caught:
        explorer.upload(session, content, "notes.txt")
    assert "object at" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd.png", "passwd"),
        ("C:\\Users\\me\\cat.jpg", "cat"),
        ("a\0b\n.png", "ab"),
        ("", "picture"),
        ("'); import os; #.png", "'); import os; #"),
    ],
)
def test_a_files_name_is_shown_and_never_used(explorer, session, photo, tmp_path, monkeypatch, name, shown):
    monkeypatch.chdir(tmp_path)
    assert explorer.upload(session, photo, name)["name"] == shown
    assert list(tmp_path.iterdir()) == []


def test_python_quotes_a_files_name(explorer, session, mix, photo):
    own = explorer.upload(session, photo, "'); raise SystemExit #.png")
    assert compile(mix(own["key"])["python"], "snippet", "exec").co_names.count("SystemExit") == 0


def test_two_visitors_do_not_see_each_others_pictures(explorer, photo):
    mine, theirs = Session(), Session()
    key = explorer.upload(mine, photo, "private.png")["key"]
    assert explorer.thumbnail(mine, key)
    for ask in (
        lambda: explorer.thumbnail(theirs, key),
        lambda: explorer.mix(theirs, {"first": key, "second": "drawn-5", "source": CONTRAST}),
    ):
        with pytest.raises(ValueError, match="no longer kept"):
            ask()


def test_only_so_many_pictures_are_kept(explorer, session, photo):
    keys = [explorer.upload(session, photo, "one.png")["key"] for _ in range(MOST_PICTURES + 1)]
    with pytest.raises(ValueError, match="no longer kept"):
        explorer.thumbnail(session, keys[0])
    assert explorer.thumbnail(session, keys[1])


@pytest.mark.parametrize("key", ["drawn-", "drawn-99999999", "drawn--1", "own-x", "", "../secret"])
def test_an_unknown_picture_is_refused(mix, key):
    with pytest.raises(ValueError, match="no longer kept"):
        mix(key)


# ---- batches ---------------------------------------------------------------------------------------------------------


def test_batches_of_a_data_set_follow_one_another(explorer, session):
    first, again, second = (explorer.batch(session, {"name": "synthetic", "batch": k})["pictures"] for k in (0, 0, 1))
    assert len(first) == 12
    assert [one["name"] for one in first] == [one["name"] for one in again]
    shown = [explorer.thumbnail(session, one["key"]) for one in first + second]
    assert len(set(shown)) == 24


def test_a_folder_of_images_is_a_data_set(explorer, session, mix, tmp_path, photo):
    for split in ("train", "val"):
        for name in ("cats", "dogs"):
            (tmp_path / split / name).mkdir(parents=True)
            (tmp_path / split / name / "one.png").write_bytes(photo)
    pictures = explorer.batch(session, {"name": str(tmp_path)})["pictures"]
    assert sorted(one["name"] for one in pictures) == ["cats", "dogs"]
    mix(pictures[0]["key"], pictures[1]["key"])


def test_real_data_sets_can_be_mixed(explorer, session, mix, shared):
    archive = shared / "data" / "tiny-imagenet-20.zip"
    if not archive.exists():
        pytest.skip("no subset of Tiny-ImageNet there")
    pictures = explorer.batch(session, {"name": str(archive)})["pictures"]
    assert mix(pictures[0]["key"], pictures[1]["key"])["names"] == [one["name"] for one in pictures[:2]]


@pytest.mark.parametrize(
    ("name", "words"), [("", "there is no name"), ("cifra10", "cifra10"), ("/no/such/folder", "/no/such/folder")]
)
def test_an_unknown_data_set_is_named(explorer, session, name, words):
    with pytest.raises(ValueError, match=words):
        explorer.batch(session, {"name": name})


# ---- saliency --------------------------------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch):
    """Contrast that counts how many maps were made."""
    made = []
    plain = contrast_saliency()

    def maps(images):
        made.extend(range(len(images)))
        return plain.maps(images)

    monkeypatch.setattr("puzzlemix.explorer.sources.contrast_saliency", lambda: replace(plain, maps=maps))
    return made


def test_saliency_is_kept_while_settings_change(mix, counted):
    for lam in (0.2, 0.5, 0.8):
        mix(lam=lam)
    assert len(counted) == 2


@pytest.fixture
def gate(monkeypatch):
    """Networks of torchvision that come when the gate opens; those called `broken` fail."""
    opened = threading.Event()

    def load(name, download=False):
        opened.wait(10)
        if name == "broken":
            raise ValueError("these weights are damaged")
        return Saliency(f"the words of {name}", lambda images: torch.ones_like(images[:, 0]))

    monkeypatch.setattr(sources, "torchvision_saliency", load)
    yield opened
    opened.set()


def eventually(ask):
    for _ in range(100):
        answer = ask()
        if answer["waiting"] is None:
            return answer
    raise AssertionError("the source never came")


def test_the_page_goes_on_while_a_network_is_fetched(mix, gate):
    source = {"kind": "torchvision", "name": "resnet18"}
    meanwhile = mix(source=source)
    assert meanwhile["waiting"]["words"] == "loading resnet18"
    assert "contrast" in meanwhile["saliency"]
    assert meanwhile["mixed"] == mix()["mixed"]
    assert meanwhile["source"]["kind"] == "contrast"
    gate.set()
    answer = eventually(lambda: mix(source=source))
    assert answer["saliency"] == "the words of resnet18"
    assert answer["source"] == {**source, "download": False}
    assert "torchvision_saliency('resnet18')" in answer["python"]


def test_what_failed_is_told_and_can_be_tried_again(mix, gate):
    gate.set()
    for _ in range(2):
        with pytest.raises(ValueError, match="damaged"):
            eventually(lambda: mix(source={"kind": "torchvision", "name": "broken"}))


def test_a_run_is_a_source(mix, tmp_path):
    with pytest.raises(ValueError, match=r"config\.json"):
        eventually(lambda: mix(source={"kind": "run", "name": str(tmp_path)}))


@pytest.mark.parametrize("kind", ["run", "torchvision"])
def test_a_source_needs_its_name(mix, kind):
    with pytest.raises(ValueError, match="has no source yet"):
        mix(source={"kind": kind, "name": " "})


def test_a_plain_picture_is_mixed_by_uniform_saliency(explorer, session, mix, file_of):
    own = explorer.upload(session, file_of(Image.new("RGB", (9, 9), "white")), "white.png")
    assert mix(own["key"], own["key"])["figures"]["ratio"] == pytest.approx(0.5, abs=0.2)
