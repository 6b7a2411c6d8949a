"""The top of a log that is one JSON object."""

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.formats.fields import as_list
from likewise.formats.top_level import read_object, refused_whole


def test_an_object_is_read_as_it_is(tmp_path):
    path = tmp_path / "log.json"
    path.write_text('{"steps": [1], "other": null}')
    assert read_object(path, "`steps`") == {"steps": [1], "other": None}


@pytest.mark.parametrize("text", ["[1]", '"steps"', "null"])
def test_anything_else_is_refused_with_what_was_expected(tmp_path, text):
    path = tmp_path / "log.json"
    path.write_text(text)
    with pytest.raises(RolloutFormatError, match="expected an object with `steps`") as refused:
        read_object(path, "`steps`")
    assert (refused.value.path, refused.value.pointer) == (str(path), "")


def test_a_wrong_field_refuses_the_file_and_names_its_place(tmp_path):
    path = tmp_path / "log.json"
    with pytest.raises(RolloutFormatError) as refused, refused_whole(path):
        as_list("no list", "/steps")
    assert (refused.value.path, refused.value.pointer) == (str(path), "/steps")


def test_other_errors_pass_as_they_are(tmp_path):
    with pytest.raises(KeyError, match="steps"), refused_whole(tmp_path):
        raise KeyError("steps")
