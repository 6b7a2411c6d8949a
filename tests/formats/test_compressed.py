"""Archives and compressed files from strangers; the hostile ones are made by hand, byte by byte where no tool does."""

import bz2
import gzip
import io
import lzma
import struct
import sys
import zipfile
import zlib
from contextlib import suppress

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.formats import read_rollouts
from likewise.formats.compressed import LIMITS, Limits, open_archive, packing, unpack, unpacking
from likewise.formats.files import read_bytes, read_head

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SMALL = Limits(entries=5, member=1_000, total=2_000, ratio=10, free=100)


@pytest.fixture
def archive(tmp_path):
    """Write a zip of the members given (name -> bytes) and give its path."""

    def _archive(members, compression=zipfile.ZIP_DEFLATED, name="a.eval"):
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", compression) as target:
            for member, data in members.items() if isinstance(members, dict) else members:
                target.writestr(member, data)
        return path

    return _archive


def patched(path, **fields):
    """Overwrite fields of the one member in both of its headers: method, crc, packed, size, flags."""
    data = bytearray(path.read_bytes())
    central = data.find(b"PK\x01\x02")
    places = {"flags": (6, 8, "<H"), "method": (8, 10, "<H"), "crc": (14, 16, "<I"), "packed": (18, 20, "<I")}
    places["size"] = (22, 24, "<I")
    for field, value in fields.items():
        local, there, form = places[field]
        struct.pack_into(form, data, local, value)
        struct.pack_into(form, data, central + there, value)
    path.write_bytes(data)
    return path


def zstd_archive(archive, *frames):
    """An archive whose member is packed as zstd frames one after another, as zip method 93."""
    path = archive({"m.json": b"".join(zstd.compress(frame) for frame in frames)}, zipfile.ZIP_STORED)
    whole = b"".join(frames)
    return patched(path, method=93, crc=zlib.crc32(whole), size=len(whole)), whole


def refused(path, match, limits=LIMITS, name=None):
    with pytest.raises(RolloutFormatError, match=match) as caught, open_archive(path, limits) as opened:
        opened.read(name or opened.names[0])
    assert caught.value.path == str(path)


# Archives that are read


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_listed_in_order_and_read(archive, compression):
    path = archive({"b.json": b"{}", "folder/": b"", "folder/a.json": b"[1]"}, compression)
    with open_archive(path) as opened:
        assert opened.names == ("b.json", "folder/a.json")
        assert (opened.read("b.json"), opened.read("folder/a.json")) == (b"{}", b"[1]")


def test_a_member_packed_with_zstd_is_read_whatever_number_of_frames_it_has(archive):
    for frames in ([b"a" * 70_000], [b"a" * 3_000, b"b" * 5_000, b""]):
        path, whole = zstd_archive(archive, *frames)
        with open_archive(path) as opened:
            assert opened.read("m.json") == whole


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_two_members_of_one_name_the_last_is_read(archive):
    path = archive([("m.json", b"old"), ("m.json", b"new"), ("n.json", b"")])
    with open_archive(path) as opened:
        assert (opened.names, opened.repeated) == (("m.json", "n.json"), ("m.json",))
        assert opened.read("m.json") == b"new"


# Archives that are refused


@pytest.mark.parametrize("name", ["../out.json", "a/../../out.json", "/etc/passwd", "C:/x", "a\\..\\b"])
def test_a_member_that_would_leave_the_folder_is_refused(archive, name):
    refused(archive({name: b"x"}), "would leave the archive's folder")


def test_a_name_with_two_dots_inside_stays_where_it_is(archive):
    names = ["samples/a..b_epoch_1.json", "samples/a:b_epoch_1.json", "samples/\\frac_epoch_1.json"]
    with open_archive(archive(dict.fromkeys(names, b"1"))) as opened:
        assert [opened.read(name) for name in names] == [b"1"] * 3


def test_a_symbolic_link_is_refused(archive):
    link = zipfile.ZipInfo("samples/link.json")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    refused(archive([(link, b"/etc/passwd")]), "is a symbolic link")


def test_an_encrypted_member_is_refused(archive):
    refused(patched(archive({"m.json": b"x"}), flags=1), "'m.json' is encrypted")


@pytest.mark.parametrize(("compression", "number"), [(zipfile.ZIP_BZIP2, 12), (zipfile.ZIP_LZMA, 14)])
def test_another_compression_is_refused_by_its_number(archive, compression, number):
    refused(archive({"m.json": b"x" * 100}, compression), f"packed by method {number}, which is not read")


def test_too_many_members_are_refused(archive):
    refused(archive({f"{i}.json": b"" for i in range(6)}), "more than 5 members", SMALL)


def test_a_member_that_says_it_is_too_large_is_refused_before_it_is_read(archive):
    refused(archive({"m.json": bytes(range(256)) * 8}, zipfile.ZIP_STORED), "unpacks to more than 0 MiB", SMALL)


def test_members_that_are_too_large_together_are_refused(archive):
    members = {f"{i}.json": bytes(range(250)) * 4 for i in range(3)}
    refused(archive(members, zipfile.ZIP_STORED), "the archive unpacks to more than", SMALL)


def test_a_member_that_unpacks_to_many_times_its_size_is_refused(archive):
    limits = Limits(ratio=100, free=1_000)
    refused(archive({"m.json": bytes(100_000)}), "unpacks to more than 100 times its size", limits)
    with open_archive(archive({"m.json": bytes(900)}), limits) as opened:  # short: no attack
        assert len(opened.read("m.json")) == 900


@pytest.mark.parametrize("size", [10, 99_999])
def test_a_member_that_lies_about_its_size_is_refused_while_it_is_read(archive, size):
    path = patched(archive({"m.json": bytes(100_000)}), size=size)
    refused(path, r"does not unpack|not as long as the archive says")


def test_a_zstd_member_that_lies_about_its_size_or_sum_is_refused(archive):
    path, whole = zstd_archive(archive, b"a" * 70_000)
    refused(patched(path, size=100), "is not as long as the archive says")
    refused(patched(path, size=len(whole) + 1), "is not as long as the archive says")
    refused(patched(path, size=len(whole), crc=1), "wrong checksum")


def test_members_that_lie_over_each_other_are_refused(archive):
    path = patched(archive({"m.json": b"x" * 50}, zipfile.ZIP_STORED), packed=1_000, size=1_000)
    refused(path, "members lie over each other")


def test_a_wrong_checksum_is_refused(archive):
    refused(patched(archive({"m.json": b"x" * 50}), crc=7), "'m.json' does not unpack: Bad CRC-32")


@pytest.mark.parametrize("content", [b"PK\x03\x04", b"PK\x03\x04" + bytes(100), b"hello", b""])
def test_what_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "a.eval").write_bytes(content)
    refused(tmp_path / "a.eval", "no whole zip file: cut off, damaged, or something else", name="x")


def test_a_missing_archive_is_no_such_file(tmp_path):
    refused(tmp_path / "gone.eval", "no such file", name="x")


def test_every_cut_and_every_flipped_byte_of_an_archive_ends_in_an_error_of_ours_or_in_bytes(archive, tmp_path):
    path, _ = zstd_archive(archive, b"some text " * 4)
    whole = path.read_bytes()
    broken = tmp_path / "b.eval"
    variants = [whole[:end] for end in range(len(whole))]
    variants += [whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :] for at in range(len(whole))]
    for data in variants:
        broken.write_bytes(data)
        with suppress(RolloutFormatError), open_archive(broken) as opened:  # any other error fails the test
            for name in opened.names:
                assert isinstance(opened.read(name), bytes)


# gzip and zstd


def test_a_compressed_file_is_read_whole_and_by_its_head(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(gzip.compress(b"x" * 200_000))
    assert read_bytes(path) == b"x" * 200_000
    assert read_head(path) == "x" * 65_536


def test_two_compressed_files_one_after_another_are_one(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(gzip.compress(b"ab") + gzip.compress(b"cd"))
    assert read_bytes(path) == b"abcd"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (gzip.compress(b"x" * 1_000, mtime=0)[:-4], "the compressed file ends too early"),
        (gzip.compress(b"x" * 1_000, mtime=0)[:12], "the compressed file ends too early"),
        (b"\x1f\x8b", "the compressed file ends too early"),
        (b"\x1f\x8bhello and more", "does not unpack"),
        (gzip.compress(bytes(range(256)), mtime=0)[:-8] + bytes(8), r"does not unpack \(CRC check failed"),
        (gzip.compress(b"x", mtime=0)[:-4] + b"\xff" * 4, r"does not unpack \(Incorrect length"),
        (gzip.compress(b"x", mtime=0) + b"more", "does not unpack"),
        (zstd.compress(b"x" * 1_000)[:-4], "the compressed file ends too early"),
        (zstd.compress(b"x" * 1_000)[:6], "the compressed file ends too early"),
        (b"\x28\xb5\x2f\xfdhello and more", "does not unpack"),
        (
            gzip.compress(b"x" * 3_000_000, mtime=0)[:-4],
            "ends too early after 2,097,152 unpacked bytes; it was cut off",
        ),
    ],
)
def test_a_broken_compressed_file_is_an_error_that_says_what_to_do(tmp_path, data, problem):
    path = tmp_path / "a.json.gz"
    path.write_bytes(data)
    with pytest.raises(RolloutFormatError, match=problem):
        read_bytes(path)


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_a_compressed_file_that_unpacks_to_too_much_is_refused(tmp_path, pack):
    bomb = pack(bytes(5_000_000))
    for limits, problem in ((Limits(ratio=100, free=1_000), "100 times its size"), (SMALL, "more than 0 MiB")):
        with pytest.raises(RolloutFormatError, match=f"the compressed file unpacks to .*{problem}"):
            unpack(unpacking(io.BytesIO(bomb), bomb[:4]), tmp_path / "a.gz", len(bomb), limits=limits)
    head = unpack(unpacking(io.BytesIO(bomb), bomb[:4]), tmp_path / "a.gz", len(bomb), limit=90, limits=SMALL)
    assert head == bytes(90)


def test_a_file_packed_with_zstd_is_read_whatever_it_is_called(tmp_path):
    for name in ("runs.jsonl.zst", "runs.jsonl"):
        path = tmp_path / name
        path.write_bytes(zstd.compress(b"ab") + zstd.compress(b"cd"))
        assert read_bytes(path) == b"abcd"
        assert read_head(path) == "abcd"


TAR = bytes(257) + b"ustar" + bytes(250)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (bz2.compress(b"x"), "packed with bzip2, which is not read; unpack it, or pack it with gzip or zstd"),
        (lzma.compress(b"x"), "packed with xz, which is not read; unpack it, or pack it with gzip or zstd"),
        (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it and name the files in it"),
        (b"Rar!\x1a\x07\x01", "a RAR archive; unpack it and name the files in it"),
        (TAR, "a tar archive; unpack it and name the folder"),
        (gzip.compress(TAR, mtime=0), "a tar archive; unpack it and name the folder"),
        (gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), "still packed with gzip"),
        (zstd.compress(zstd.compress(b"x")), "still packed with zstd"),
    ],
)
def test_a_packing_that_is_not_read_is_told_by_its_name_whether_a_format_is_forced_or_not(tmp_path, data, problem):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(data)
    for format in (None, "native"):
        with pytest.raises(RolloutFormatError, match=problem):
            read_rollouts(path, format=format)


def test_texts_are_no_packing():
    assert [packing(text) for text in (b"{}", b"task_id,response\n", b"", b"PK", b"BZ", b"\xef\xbb\xbf{}")] == [
        None
    ] * 6
