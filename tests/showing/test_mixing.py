import numpy as np
import pytest
import torch

from puzzlemix import PuzzleMixConfig, puzzle_mix
from puzzlemix.showing import Mixing, contrast_saliency, drawn_pictures, mix_pictures

MIXING = Mixing(lam=0.6, grid=(2, 4), mix=PuzzleMixConfig(labels=2))


@pytest.fixture(scope="module")
def shown():
    pictures = drawn_pictures([2, 14, 9], 32)
    return mix_pictures(pictures, contrast_saliency().maps(pictures.images), MIXING)


def test_every_picture_meets_the_next_one_as_the_settings_say(shown):
    wanted = puzzle_mix(
        shown.pictures.images,
        shown.saliency,
        index=torch.tensor([1, 2, 0]),
        lam=0.6,
        grid=(2, 4),
        config=PuzzleMixConfig(labels=2),
    )
    assert torch.equal(shown.mixed.images, wanted.images)
    assert torch.equal(shown.mixed.mask, wanted.mask)


def test_examples_show_the_pictures_by_name(shown):
    example = shown.examples([2])[0]
    assert (example.first.name, example.second.name) == (shown.pictures.names[2], shown.pictures.names[0])
    np.testing.assert_allclose(example.first.image, shown.pictures.images[2].permute(1, 2, 0).numpy())
    np.testing.assert_allclose(example.mixed, shown.mixed.images[2].permute(1, 2, 0).numpy(), atol=1e-6)


def test_partners_can_be_chosen():
    pictures = drawn_pictures(range(2), 32)
    alone = mix_pictures(pictures, contrast_saliency().maps(pictures.images), Mixing(), torch.tensor([0, 1]))
    torch.testing.assert_close(alone.mixed.images, pictures.images)


@pytest.mark.parametrize("lam", [-0.1, 1.5, float("nan")])
def test_a_share_outside_of_0_to_1_is_refused(lam):
    with pytest.raises(ValueError, match="lam="):
        Mixing(lam=lam)
