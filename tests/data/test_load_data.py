import pytest
import torch

from puzzlemix.data import DATA_SETS, DataError, load_data


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cifar", r"there is no data set 'cifar': did you mean cifar10 or cifar100\?"),
        ("CIFAR-10", "did you mean cifar10"),
        ("tiny-imagenet-200", "did you mean tiny_imagenet"),
        ("fashionmnist", "did you mean fashion_mnist"),
        ("sythetic", "did you mean synthetic"),
        ("zzz", "the names are synthetic, cifar10, cifar100, fashion_mnist, tiny_imagenet, imagenet, imagenet_colour"),
        ("no/such/folder", "no/such/folder does not exist: pass the path"),
        ("birds.zip", r"birds\.zip does not exist"),
    ],
)
def test_unknown_names_get_the_nearest_ones(name, message):
    with pytest.raises(DataError, match=message):
        load_data(name)


@pytest.mark.parametrize("name", [name for name in DATA_SETS if name != "synthetic"])
def test_missing_sets_say_what_was_expected_and_what_to_do(name, tmp_path):
    with pytest.raises(
        DataError, match=rf"{name.removesuffix('_colour')} is not in .*: found nothing; expected .*(curl -fL|tar -xf)"
    ):
        load_data(name, root=tmp_path)


def test_a_size_of_ones_own_is_made_when_batches_are(cifar, write):
    """Sets of one size stay in memory as they are, however large their images are to be in training."""
    from puzzlemix.data import Loader

    data = load_data("cifar10", root=write(cifar()[0]), size=48)
    assert data.train.images.shape[2:] == (32, 32)
    assert data.spec.size == 48
    assert next(Loader(data.train).train(0, 4)).images.shape == (4, 3, 48, 48)
    assert next(Loader(data.test).test(4)).images.shape == (4, 3, 48, 48)


def test_the_embedded_set_follows_its_seed():
    first, again, other = (load_data(seed=seed, train_images=10, test_images=10, size=16) for seed in (3, 3, 4))
    assert torch.equal(first.train.images, again.train.images)
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()


def test_the_home_folder_is_found(cifar, write, monkeypatch):
    monkeypatch.setenv("HOME", str(write(cifar()[0])))
    assert load_data("cifar10", root="~").fingerprint() == load_data("~/cifar-10-batches-py").fingerprint()
