import io
import os
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest

from puzzlemix.data import DataError, archive
from puzzlemix.data.archive import images_of, open_tree, overview, read_lines

FILES = {
    "set/train/cat/b.JPEG": b"bb",
    "set/train/cat/a.png": b"a",
    "set/train/cat/.hidden.png": b"no",
    "set/train/cat/notes.txt": b"one\n\n two\n",
    "__MACOSX/set/train/cat/._a.png": b"no",
    "set/train/empty/": b"",
}


@pytest.mark.parametrize("kind", ["folder", "zip", "tar"])
def test_a_folder_and_its_archives_are_the_same_tree(write, kind):
    tree = open_tree(write(FILES, kind))
    assert tree.names == ("train/cat/a.png", "train/cat/b.JPEG", "train/cat/notes.txt")
    assert "train/empty/" in tree.folders
    assert [tree.read(name) for name in tree.names[:2]] == [b"a", b"bb"]
    assert images_of(tree, "train/cat/") == ["train/cat/a.png", "train/cat/b.JPEG"]
    assert read_lines(tree, "train/cat/notes.txt") == ["one", " two"]
    assert overview(tree) == "train/"
    assert "set" in tree.describe("train/cat/a.png")
    assert "a.png" in tree.describe("train/cat/a.png")


def test_a_lone_folder_with_a_role_is_not_left_out(write):
    assert open_tree(write({"train/a.png": b""}, "zip")).names == ("train/a.png",)


def test_what_does_not_exist_is_said(tmp_path):
    with pytest.raises(DataError, match="nowhere does not exist"):
        open_tree(tmp_path / "nowhere")


def test_links_are_followed_but_not_in_circles(write, tmp_path):
    path = write({"train/cat/a.png": b"a"})
    far = tmp_path / "far"
    far.mkdir()
    (far / "b.png").write_bytes(b"b")
    os.symlink(far, path / "train" / "dog")
    os.symlink(path / "train", path / "train" / "cat" / "up")
    os.symlink(far / "missing", path / "train" / "cat" / "broken.png")
    assert open_tree(path).names == ("train/cat/a.png", "train/cat/broken.png", "train/dog/b.png")
    with pytest.raises(DataError, match=r"broken\.png cannot be read"):
        open_tree(path).read("train/cat/broken.png")


def test_a_folder_that_may_not_be_read_is_not_taken_for_empty(write, monkeypatch):
    path = write({"train/cat/a.png": b"a"})
    scan = os.scandir

    def refuse(folder):
        if str(folder).endswith("cat"):
            raise PermissionError(13, "Permission denied")
        return scan(folder)

    monkeypatch.setattr(archive.os, "scandir", refuse)
    with pytest.raises(DataError, match=r"cat cannot be read .*chmod"):
        open_tree(path)


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_truncated_archive_is_said_to_be_one(write, kind):
    path = write({"train/a.png": bytes(range(256)) * 40}, kind)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=rf"is no complete {kind} archive .*python -m {kind}file -t"):
        open_tree(path)


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_names_that_lead_out_of_an_archive_lead_nowhere(write, tmp_path, kind):
    path = write({"../out.txt": b"evil", "/absolute.txt": b"evil", "train/a.png": b"a"}, kind)
    before = set(tmp_path.rglob("*"))
    tree = open_tree(path)
    assert [tree.read(name) for name in tree.names if name.endswith("a.png")] == [b"a"]
    assert set(tmp_path.rglob("*")) == before


def test_links_in_a_tar_are_left_out(tmp_path):
    with tarfile.open(tmp_path / "set.tar", "w") as packed:
        link = tarfile.TarInfo("train/a.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        packed.addfile(link)
    assert open_tree(tmp_path / "set.tar").names == ()


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_bombs_are_refused_by_what_they_claim(write, monkeypatch, kind):
    monkeypatch.setattr(archive, "_LARGEST_FILE", 1000)
    path = write({"a.txt": bytes(1001), "b.txt": b"b"}, kind)
    with pytest.raises(DataError, match=r"a\.txt .*claims 1,001 bytes"):
        open_tree(path).read("a.txt")


def test_a_zip_that_claims_less_than_it_holds_does_not_unpack_more(tmp_path):
    path = tmp_path / "set.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.txt", bytes(100_000))
    data = path.read_bytes()
    path.write_bytes(data.replace(struct.pack("<I", 100_000), struct.pack("<I", 10)))
    with pytest.raises(DataError, match=r"a\.txt .* cannot be read"):
        open_tree(path).read("a.txt")


def test_a_tar_too_large_for_memory_is_to_be_unpacked(write, monkeypatch):
    monkeypatch.setattr(archive, "_LARGEST_TAR", 1000)
    with pytest.raises(DataError, match="unpack it, tar -xf"):
        open_tree(write({"a.txt": bytes(600), "b.txt": bytes(600)}, "tar"))


def test_an_encrypted_zip_is_said_to_be_one(write):
    path = write({"a.txt": b"text"}, "zip")
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="encrypted"):
        open_tree(path).read("a.txt")


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_damage_anywhere_is_a_data_error_or_harmless(write, tmp_path, kind):
    rng = np.random.default_rng(0)
    whole = write({f"train/cat/{number}.png": rng.bytes(50) for number in range(3)}, kind).read_bytes()
    for trial in range(150):
        data = bytearray(whole)
        for place in rng.integers(0, len(data), 1 + trial % 4):
            data[place] = rng.integers(256)
        path = tmp_path / f"damaged.{'zip' if kind == 'zip' else 'tar.gz'}"
        path.write_bytes(data)
        try:
            tree = open_tree(path)
            for name in tree.names:
                tree.read(name)
        except DataError:
            pass


def test_a_zip_goes_to_other_processes(write):
    tree = pickle.loads(pickle.dumps(open_tree(write(FILES, "zip"))))
    assert tree.read("train/cat/a.png") == b"a"


def test_a_list_that_is_no_text_is_refused(write):
    with pytest.raises(DataError, match=r"words\.txt is not a text"):
        read_lines(open_tree(write({"words.txt": b"\xff\xfe"})), "words.txt")


def test_a_name_that_stands_twice_in_a_zip_counts_once(tmp_path):
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as packed:
        packed.writestr("a.png", b"old")
        with pytest.warns(UserWarning, match="Duplicate"):
            packed.writestr("a.png", b"new")
    tree = open_tree(tmp_path / "set.zip")
    assert (tree.names, tree.read("a.png")) == (("a.png",), b"new")


def test_an_empty_archive_holds_nothing(tmp_path):
    (tmp_path / "set.tar").write_bytes(_empty_tar())
    assert overview(open_tree(tmp_path / "set.tar")) == "nothing"


def _empty_tar():
    buffer = io.BytesIO()
    tarfile.open(fileobj=buffer, mode="w").close()
    return buffer.getvalue()
