"""What the tests of training share."""

import pytest


@pytest.fixture(autouse=True)
def _one_thread(request):
    """PyTorch on one core: models this small are slower on two, and very much so where the cores are shared."""
    if request.node.get_closest_marker("torch"):
        import torch

        torch.set_num_threads(1)
