import pytest
import torch

from puzzlemix.drawing import figure_bytes
from puzzlemix.drawing.gallery import Share, draw_gallery

MIXED = [Share("star", 0.7), Share("ring", 0.3)]


def words(axes):
    """What is written below a picture."""
    return [area.get_text() for area in axes.findobj(lambda artist: hasattr(artist, "get_text")) if area.get_text()]


def test_every_image_has_its_place_and_its_shares():
    images = torch.rand(2, 3, 3, 8, 6, generator=torch.Generator().manual_seed(0))
    figure = draw_gallery(images, [[[Share("disc", 1.0)], MIXED, MIXED]] * 2)
    assert len(figure.axes) == 6
    for place, axes in enumerate(figure.axes):
        shown = torch.from_numpy(axes.images[0].get_array().filled())
        torch.testing.assert_close(shown, images[place // 3, place % 3].permute(1, 2, 0))
    assert "disc" in words(figure.axes[0])
    assert {"70 % star", "30 % ring"} <= set(words(figure.axes[1]))
    tops = [axes.get_position().y1 for axes in figure.axes]
    assert tops[0] == tops[2] > tops[3]
    assert figure_bytes(figure)


def test_grey_images_are_grey():
    figure = draw_gallery(torch.full((1, 1, 1, 4, 4), 0.25), [[[Share("coat", 1.0)]]])
    assert (figure.axes[0].images[0].get_array() == 0.25).all()


def test_shares_must_fit_the_images():
    with pytest.raises(ValueError, match=r"shares for \[1\] images: pass 2 in each of 1 rows"):
        draw_gallery(torch.rand(1, 2, 3, 4, 4), [[MIXED]])
