"""The tests run with shapes and types of arrays checked; here is proof that the check is on."""

import numpy as np
import pytest

from likewise.metrics.nli_distance import hard_distance


def test_an_array_of_another_type_is_refused_in_tests():
    with pytest.raises(Exception, match="Type-check error"):
        hard_distance(np.array([0.5, 1.0]))
