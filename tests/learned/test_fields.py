from __future__ import annotations

import pytest

from learned.samples import facts
from likewise.core.errors import CheckpointError
from likewise.learned.fields import FIELDS, check_fields

WHOLE = facts(format="f", weights={})


def test_the_sample_has_every_field_and_fits():
    assert WHOLE.keys() == FIELDS.keys()
    check_fields(WHOLE, "here")


@pytest.mark.parametrize("name", list(FIELDS))
def test_every_field_refuses_something(name):
    with pytest.raises(CheckpointError, match=f"at {name}: expected"):
        check_fields(WHOLE | {name: [[object()]]}, "here")
