from __future__ import annotations

import subprocess
import sys

import pytest

from likewise.training.environments.bookings import Bookings
from likewise.training.sft import fine_tune
from likewise.training.tiny import messages_of
from likewise.training.tiny_experts import EXPERT, demonstrations
from training.policies import policy, spelling

WITHOUT = """
import sys
sys.modules["trl"] = None
from likewise.training.sft import fine_tune
try:
    fine_tune(None, None, [], "x", settings={})
except ImportError as problem:
    print(problem)
"""
QUIET = {
    "use_cpu": True,
    "bf16": False,
    "report_to": "none",
    "disable_tqdm": True,
    "activation_checkpointing": False,
    "per_device_train_batch_size": 8,
    "max_length": 256,
    "logging_steps": 5,
    "dataloader_pin_memory": False,
}


def rows():
    made = demonstrations(Bookings.tasks[:2], 8, EXPERT, 0, successful=True)
    return [{"messages": messages_of(each)} for each in made]


def test_without_the_extra_the_line_to_type_is_given():
    answer = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=120)
    assert answer.stdout.strip() == "training an agent needs an extra: pip install 'likewise[train]'"


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_demonstrations_are_learned_and_a_checkpoint_is_gone_on_from(tmp_path):
    model = policy(0, loud=0.0)
    settings = {**QUIET, "max_steps": 10, "learning_rate": 1e-2, "save_strategy": "steps", "save_steps": 5}
    losses = fine_tune(model, spelling(), rows(), tmp_path, settings=settings)
    assert losses[-1] < losses[0]
    assert (tmp_path / "model.safetensors").exists()
    longer = fine_tune(model, spelling(), rows(), tmp_path, settings={**settings, "max_steps": 15}, resume=True)
    assert len(longer) == 3
    assert longer[:2] == losses
