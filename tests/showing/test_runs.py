from dataclasses import replace

import pytest
import torch

from puzzlemix.data import DataSpec, load_data
from puzzlemix.models import build_model, save_weights
from puzzlemix.showing import drawn_pictures, find_saliency, load_run, write_facts
from puzzlemix.training.config import DataConfig, ModelConfig, TrainConfig

SPEC = DataSpec("mine", 3, 24, channels=1, mean=(0.3,), std=(0.2,), crop_scale=(0.1, 1.0), resize=28)


@pytest.fixture
def run(tmp_path):
    """A finished run's folder, and its network."""

    def make(spec, data):
        config = TrainConfig(model=ModelConfig(width=4), data=DataConfig(data))
        (tmp_path / "config.json").write_text(config.to_json())
        options = {"channels": spec.channels, "mean": spec.mean, "std": spec.std, "width": 4}
        model = build_model("preact_resnet18", spec.classes, seed=1, **options).eval()
        save_weights(model, tmp_path / "weights.safetensors")
        return tmp_path, model

    return make


def test_a_run_is_read_without_its_data_where_the_facts_lie_beside_it(run):
    folder, model = run(SPEC, "a set that is not here")
    write_facts(folder, SPEC)
    found = load_run(folder)
    images = torch.rand(2, 1, 24, 24, generator=torch.Generator().manual_seed(0))
    assert found.spec == SPEC
    assert not found.model.training
    torch.testing.assert_close(found.model(images), model(images))


def test_facts_that_are_missing_come_from_the_data(run):
    spec = load_data("synthetic", train_images=1, test_images=1).spec
    folder, model = run(spec, "synthetic")
    images = drawn_pictures(range(3), 32).images
    assert load_run(folder).spec == spec
    torch.testing.assert_close(load_run(folder).model(images), model(images))


def test_a_run_is_a_source_of_saliency_at_its_own_size(run):
    folder, _ = run(SPEC, "mine.zip")
    write_facts(folder, SPEC)
    source = find_saliency(str(folder))
    assert source.words == "the gradient of preact_resnet18, trained on mine.zip with puzzle"
    assert source.maps(drawn_pictures(range(2), 40).images).shape == (2, 40, 40)


def test_an_unfinished_run_and_damaged_facts_are_named(run):
    folder, _ = run(SPEC, "mine.zip")
    write_facts(folder, replace(SPEC, size=12))
    (folder / "weights.safetensors").unlink()
    with pytest.raises(ValueError, match="has no weights yet: finish the run with puzzlemix train --config"):
        load_run(folder)
    (folder / "data.json").write_text("{")
    with pytest.raises(ValueError, match=r"data\.json is damaged"):
        load_run(folder)
