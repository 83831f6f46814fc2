"""The saliency cache: maps come back in the frame of the new view, as often as promised."""

import copy
import io
from fractions import Fraction
from math import floor

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from puzzlemix.core import saliency_cache
from puzzlemix.core.saliency_cache import SaliencyCache, View


def numbers(*values: int) -> Tensor:
    return torch.tensor(values)


def random_maps(batch: int, *size: int, seed: int = 0) -> Tensor:
    """Maps that float16 holds exactly, each with a largest value of 1."""
    maps = torch.randint(0, 256, (batch, *size), generator=torch.Generator().manual_seed(seed)) / 256
    maps.flatten(1)[:, -1] = 1
    return maps


def looked_up(stored, old, new, size):
    """The oracle, pixel by pixel in fractions: where in the old map is what the new view shows there?"""

    def cell(position, start, extent, old_start, old_extent, cells):
        return min(max(floor((position * extent + start - old_start) * cells / old_extent), 0), cells - 1)

    rows, cols = stored.shape
    result = torch.empty(size)
    for row in range(size[0]):
        for col in range(size[1]):
            down = Fraction(2 * row + 1, 2 * size[0])
            along = Fraction(2 * (size[1] - 1 - col if new["flip"] else col) + 1, 2 * size[1])
            i = cell(down, new["top"], new["height"], old["top"], old["height"], rows)
            j = cell(along, new["left"], new["width"], old["left"], old["width"], cols)
            result[row, col] = stored[i, cols - 1 - j if old["flip"] else j]
    return result


def view_of(*frames: dict) -> View:
    return View(**{name: torch.tensor([frame[name] for frame in frames]) for name in View._fields})


frames = st.fixed_dictionaries(
    {
        "top": st.integers(-5, 9),
        "left": st.integers(-5, 9),
        "height": st.integers(1, 20),
        "width": st.integers(1, 20),
        "flip": st.booleans(),
    }
)
sizes = st.tuples(st.integers(1, 7), st.integers(1, 7))


# ---- warping -------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(frames, frames), min_size=1, max_size=4), sizes, sizes)
def test_any_view_from_any_other(pairs, stored_size, size):
    """Crops, padding, rescaling and flips, whatever the two sizes."""
    maps = random_maps(len(pairs), *stored_size)
    samples = (3 * torch.arange(len(pairs)) + 7) % 5
    cache = SaliencyCache(refresh=9)
    cache.store(samples, maps, view_of(*(old for old, _ in pairs)))
    loaded = cache.load(samples, size, view_of(*(new for _, new in pairs)))
    expected = torch.stack([looked_up(m, old, new, size) for m, (old, new) in zip(maps, pairs, strict=True)])
    assert torch.equal(loaded, expected)


@pytest.mark.parametrize("flips", [(False, False), (False, True), (True, False), (True, True)])
def test_crops_of_a_padded_image_agree_where_they_overlap(flips):
    """The usual augmentation, by slicing the sample itself: crops of 8x8 from 8x8 padded by 2, perhaps flipped."""
    sample = random_maps(1, 12, 12)[0]

    def cut(top, left, flip):
        crop = sample[top + 2 : top + 10, left + 2 : left + 10]
        return crop.flip(1) if flip else crop

    (old_top, old_left), (top, left) = (-1, 2), (1, -2)
    old, new = cut(old_top, old_left, flips[0]), cut(top, left, flips[1])
    cache = SaliencyCache(refresh=5)
    cache.store(numbers(3), old[None], View(numbers(old_top), numbers(old_left), flip=torch.tensor([flips[0]])))
    loaded = cache.load(numbers(3), (8, 8), View(numbers(top), numbers(left), flip=torch.tensor([flips[1]])))[0]
    rows, cols = slice(0, 6), slice(4, 8)  # sample rows 1..6 and columns 2..5 lie in both
    seen, wanted = (x.flip(1) if flips[1] else x for x in (loaded, new))
    scale = old.max()
    torch.testing.assert_close(seen[rows, cols] * scale, wanted[rows, cols], atol=1e-3, rtol=1e-3)
    assert torch.equal(seen[7], seen[5])  # below the old crop: its last row again
    assert torch.equal(seen[:, 0], seen[:, 4])  # left of it: its first column


def test_the_same_view_gives_the_map_back():
    maps = random_maps(4, 6, 9)
    view = View(
        numbers(-2, 0, 3, 4),
        numbers(1, 2, -3, 0),
        numbers(6, 5, 9, 20),
        numbers(9, 4, 30, 7),
        numbers(0, 1, 0, 1).bool(),
    )
    cache = SaliencyCache(refresh=5)
    cache.store(torch.arange(4), maps, view)
    assert torch.equal(cache.load(torch.arange(4), (6, 9), view), maps)
    assert torch.equal(cache.load(torch.arange(4), (6, 9)), maps)


def test_without_views_maps_follow_the_size():
    maps = random_maps(2, 4, 6)
    cache = SaliencyCache(refresh=5)
    cache.store(numbers(0, 1), maps)
    doubled = maps.repeat_interleave(2, 1).repeat_interleave(2, 2)
    assert torch.equal(cache.load(numbers(0, 1), (8, 12)), doubled)
    whole = View(numbers(0, 0), numbers(0, 0))
    assert torch.equal(cache.load(numbers(0, 1), (4, 6), whole), maps)


@pytest.mark.parametrize("flip", [False, True])
def test_signals(flip):
    maps = random_maps(3, 10)
    cache = SaliencyCache(refresh=5)
    zeros = numbers(0, 0, 0)
    cache.store(numbers(4, 0, 2), maps, View(zeros, numbers(0, 5, -5)))
    view = View(zeros, numbers(2, 5, -6), flip=torch.full((3,), flip))
    loaded = cache.load(numbers(4, 0, 2), 10, view)
    positions = (torch.arange(10) + numbers(2, 0, -1)[:, None]).clamp(0, 9)
    expected = maps.gather(1, positions)
    assert torch.equal(loaded, expected.flip(1) if flip else expected)
    assert cache.load(numbers(4), (10,)).shape == (1, 10)


# ---- what is kept --------------------------------------------------------------------------------------------------


def test_maps_are_pooled_and_scaled():
    maps = random_maps(2, 8, 16) * torch.tensor([1e-30, 1e30])[:, None, None]
    cache = SaliencyCache(refresh=5, resolution=4)
    cache.store(numbers(0, 1), maps)
    pooled = maps.unflatten(2, (4, 4)).unflatten(1, (4, 2)).mean((2, 4))
    expected = pooled / pooled.amax((1, 2), keepdim=True)
    loaded = cache.load(numbers(0, 1), (4, 4))
    torch.testing.assert_close(loaded, expected, atol=1e-3, rtol=1e-3)
    assert torch.equal(loaded.amax((1, 2)), torch.ones(2))
    assert loaded.dtype == torch.float32
    assert cache.state_dict()["maps"].dtype == torch.float16


def test_zero_and_non_finite_maps_stay_recognisable():
    maps = torch.ones(4, 3, 3)
    maps[0] = 0
    maps[1, 0, 0] = torch.nan
    maps[2, 1, 1] = torch.inf
    cache = SaliencyCache(refresh=5)
    cache.store(torch.arange(4), maps)
    loaded = cache.load(torch.arange(4), (3, 3))
    assert not loaded[0].any()
    assert loaded[1, 0, 0].isnan()
    assert loaded[2, 1, 1].isinf()
    assert torch.equal(loaded[3], maps[3])


def test_images_of_other_sizes_later():
    cache = SaliencyCache(refresh=5, resolution=8)
    cache.store(numbers(0), random_maps(1, 16, 16))
    cache.store(numbers(1), torch.ones(1, 5, 40))
    assert torch.equal(cache.load(numbers(1), (5, 40)), torch.ones(1, 5, 40))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_any_gradient_mode(mode):
    cache = SaliencyCache(refresh=9)
    with mode():
        cache.store(numbers(0, 1), random_maps(2, 4, 4).requires_grad_())
        state = cache.state_dict()
    cache.store(numbers(1, 2), random_maps(2, 4, 4))
    loaded = cache.load(numbers(0, 1, 2), (4, 4))
    with mode():
        cache.load_state_dict(state)
    cache.load(numbers(0), (4, 4))
    cache.store(numbers(0), random_maps(1, 4, 4))
    assert not loaded.requires_grad
    assert not loaded.is_inference()


def test_inputs_are_not_modified():
    samples, maps = numbers(1, 0, 1), random_maps(3, 40, 40) * 3
    view = View(numbers(0, 1, 2), numbers(0, 1, 2))
    kept = copy.deepcopy((samples, maps, view))
    cache = SaliencyCache(refresh=5)
    cache.store(samples, maps, view)
    cache.load(samples, (40, 40), view).zero_()
    for before, after in zip((*kept[:2], *kept[2][:2]), (samples, maps, *view[:2]), strict=True):
        assert torch.equal(before, after)
    assert cache.load(numbers(0), (40, 40)).any()


# ---- bookkeeping ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refresh", [1, 2, 5])
def test_a_map_serves_refresh_uses(refresh):
    cache = SaliencyCache(refresh)
    for _ in range(2):
        assert cache.stale(numbers(7)).tolist() == [True]
        cache.store(numbers(7), random_maps(1, 4, 4))  # the first use
        for _ in range(refresh - 1):
            assert cache.stale(numbers(7)).tolist() == [False]
            cache.load(numbers(7), (4, 4))


def test_each_sample_counts_for_itself():
    cache = SaliencyCache(refresh=3)
    cache.store(numbers(5, 2, 9), random_maps(3, 4, 4))
    cache.load(numbers(2, 9), (4, 4))
    cache.load(numbers(2), (4, 4))
    assert cache.stale(torch.arange(12)).nonzero()[:, 0].tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 10, 11]
    cache.store(numbers(2), random_maps(1, 4, 4))
    assert not cache.stale(numbers(2)).any()


def test_duplicates_in_one_batch():
    maps = random_maps(4, 3, 3)
    view = View(numbers(0, 1, 2, 3), numbers(0, 0, 0, 0))
    cache = SaliencyCache(refresh=4)
    assert cache.stale(numbers(6, 1, 6, 6)).all()
    cache.store(numbers(6, 1, 6, 6), maps, view)
    expected = cache.load(numbers(6, 1), (3, 3), View(numbers(3, 1), numbers(0, 0)))
    assert torch.equal(expected, maps[[3, 1]])  # the last one's map, in the last one's frame
    cache.load(numbers(6, 6), (3, 3))
    assert cache.stale(numbers(6, 1)).tolist() == [True, False]  # each image of the batch was a use


def test_grows_as_needed():
    cache = SaliencyCache(refresh=100)
    maps = random_maps(200, 4, 4)
    for number in (0, 1, 5, 30, 31, 100, 199):
        cache.store(numbers(number), maps[number : number + 1])
    for number in (0, 1, 5, 30, 31, 100, 199):
        assert torch.equal(cache.load(numbers(number), (4, 4)), maps[number : number + 1])
    assert cache.stale(numbers(2, 198, 10**6)).all()


def test_empty_batches():
    cache = SaliencyCache(refresh=2)
    none = torch.empty(0, dtype=torch.long)
    for _ in range(2):
        assert cache.stale(none).shape == (0,)
        assert cache.load(none, (4, 5)).shape == (0, 4, 5)
        cache.store(none, torch.empty(0, 4, 5), View(none, none))
        cache.store(numbers(0), random_maps(1, 4, 5))


def test_state_goes_round_exactly():
    cache = SaliencyCache(refresh=3, resolution=4)
    view = View(numbers(1, 2, 3), numbers(3, 2, 1), flip=numbers(0, 1, 1).bool())
    cache.store(numbers(8, 3, 5), random_maps(3, 6, 6), view)
    cache.load(numbers(3), (6, 6))
    file = io.BytesIO()
    torch.save(cache.state_dict(), file)
    file.seek(0)
    resumed = SaliencyCache(refresh=3, resolution=4)
    resumed.store(numbers(0), torch.ones(1, 3))  # forgotten
    resumed.load_state_dict(torch.load(file, weights_only=True))
    everything = torch.arange(20)
    new = View(numbers(0, 0, 0), numbers(0, 1, 2))
    for _ in range(2):
        assert torch.equal(cache.stale(everything), resumed.stale(everything))
        assert torch.equal(cache.load(numbers(8, 3, 5), (6, 6), new), resumed.load(numbers(8, 3, 5), (6, 6), new))
    old, again = cache.state_dict(), resumed.state_dict()
    assert old.keys() == again.keys()
    for name in ("samples", "uses", "frames", "maps"):
        assert torch.equal(old[name], again[name])


def test_state_of_an_unused_cache_and_copies():
    cache = SaliencyCache(refresh=3)
    empty = cache.state_dict()
    cache.store(numbers(0), random_maps(1, 4, 4))
    state = cache.state_dict()
    kept = copy.deepcopy(state)
    cache.store(numbers(0), random_maps(1, 4, 4, seed=1))
    cache.load(numbers(0), (4, 4))
    assert torch.equal(state["maps"], kept["maps"])
    assert torch.equal(state["uses"], kept["uses"])
    cache.load_state_dict(empty)
    assert cache.stale(numbers(0)).all()
    with pytest.raises(ValueError, match="resolution 32"):
        SaliencyCache(refresh=3, resolution=16).load_state_dict(state)


# ---- hostile input -------------------------------------------------------------------------------------------------


@pytest.fixture
def cache() -> SaliencyCache:
    cache = SaliencyCache(refresh=3)
    cache.store(numbers(0, 1), random_maps(2, 4, 4))
    return cache


BAD_SAMPLES = [
    (numbers(0, 1).to("meta"), ValueError, r"meta.*on the CPU"),
    (numbers(0, -1), ValueError, "from -1 to 0"),
    (numbers(0, 2**40), ValueError, "hashes"),
    (torch.zeros(2), ValueError, "float32"),
    (torch.zeros(2, dtype=torch.bool), ValueError, "bool"),
    (numbers(0, 1)[None], ValueError, r"\(1, 2\)"),
    ([0, 1], TypeError, "list"),
]


@pytest.mark.parametrize(("samples", "error", "message"), BAD_SAMPLES)
def test_bad_samples(cache, samples, error, message):
    for call in (cache.stale, lambda s: cache.store(s, torch.ones(2, 4, 4)), lambda s: cache.load(s, (4, 4))):
        with pytest.raises(error, match=message):
            call(samples)


BAD_VIEWS = [
    (View(numbers(0), numbers(0, 0)), r"view.top .*\(1,\).*2 whole"),
    (View(numbers(0, 0), torch.zeros(2)), "view.left .*float32"),
    (View(numbers(0, 0), numbers(0, 0).to("meta")), "view.left is on meta"),
    (View(numbers(0, 0), numbers(0, 2**31)), "view.left runs from 0 to 2147483648"),
    (View(numbers(0, 0), numbers(0, 0), height=numbers(4, 0)), "view.height runs from 0 to 4"),
    (View(numbers(0, 0), numbers(0, 0), width=numbers(-4, 4)), "view.width runs from -4 to 4"),
    (View(numbers(0, 0), numbers(0, 0), flip=numbers(2, 0)), "view.flip runs from 0 to 2"),
    (View([0, 0], numbers(0, 0)), "view.top is on list"),  # pyright: ignore[reportArgumentType]
]


@pytest.mark.parametrize(("view", "message"), BAD_VIEWS)
def test_bad_views(cache, view, message):
    before = cache.state_dict()
    with pytest.raises(ValueError, match=message):
        cache.store(numbers(0, 1), torch.ones(2, 4, 4), view)
    with pytest.raises(ValueError, match=message):
        cache.load(numbers(0, 1), (4, 4), view)
    after = cache.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in ("samples", "uses", "frames", "maps"))


@pytest.mark.parametrize(
    ("saliency", "message"),
    [
        (torch.ones(3, 4, 4), r"\(3, 4, 4\).*2 samples"),
        (torch.ones(2, 3, 4, 4), r"\(2, 3, 4, 4\)"),
        (torch.ones(2, 0, 4), r"\(2, 0, 4\)"),
        (torch.ones(2, 4, 4, dtype=torch.long), "int64"),
        (torch.ones(2, 4), "maps of images"),
    ],
)
def test_bad_saliency(cache, saliency, message):
    with pytest.raises(ValueError, match=message):
        cache.store(numbers(0, 1), saliency)


def test_bad_loads(cache):
    with pytest.raises(ValueError, match=r"no map of sample 5.*stale"):
        cache.load(numbers(0, 5), (4, 4))
    for size in (4, (4,), (4, 4, 4), (0, 4), ()):
        with pytest.raises(ValueError, match=r"size=.*\(H,W\)"):
            cache.load(numbers(0), size)
    with pytest.raises(ValueError, match="no map of sample 0"):
        SaliencyCache(refresh=3).load(numbers(0), (4, 4))
    assert not cache.stale(numbers(0)).any()


@pytest.mark.parametrize("options", [{"refresh": 0}, {"refresh": 2.5}, {"refresh": 2, "resolution": 0}])
def test_bad_settings(options):
    with pytest.raises(ValueError, match="at least 1"):
        SaliencyCache(**options)


class Late:
    """Stands for a GPU whose maps are there only once they are waited for."""

    def __init__(self, maps):
        self.maps, self.there, self.waits = maps.clone(), maps.zero_(), 0

    def synchronize(self):
        self.there.copy_(self.maps)
        self.waits += 1


def test_storing_waits_for_nothing_and_the_next_use_finds_the_maps(monkeypatch):
    events = []

    def fetched(maps, device):
        events.append(Late(maps))
        return events[-1].there, events[-1]

    monkeypatch.setattr(saliency_cache, "_fetched", fetched)
    cache, maps = SaliencyCache(3), random_maps(3, 4, 4)
    cache.store(numbers(5, 2, 5), maps)
    assert [event.waits for event in events] == [0]
    assert cache.stale(numbers(5, 2, 1)).tolist() == [False, False, True]
    assert torch.equal(cache.load(numbers(2, 5), (4, 4)), maps[[1, 2]])
    cache.store(numbers(9), maps[:1])
    assert torch.equal(cache.state_dict()["maps"].float(), maps[[1, 2, 0]])
    assert [event.waits for event in events] == [1, 1]
