from __future__ import annotations

import pickle

import pytest

from likewise.core import errors
from likewise.core.errors import (
    AgentError,
    BackendError,
    CheckpointError,
    ConfigError,
    GroupError,
    LabelError,
    LikewiseError,
    MissingExtraError,
    RolloutFormatError,
    StoreUnavailableError,
    UnknownFormatError,
    UnreliableAnswerError,
)

EXAMPLES = [
    (RolloutFormatError("runs.json", "no messages"), "runs.json: no messages"),
    (
        RolloutFormatError("runs.json", "no role", line=3, pointer="/0/role", expected="a string"),
        "runs.json, line 3, at /0/role: no role (expected a string)",
    ),
    (RolloutFormatError("runs.json", "not an object", pointer=""), "runs.json, at /: not an object"),
    (
        UnknownFormatError("runs.json", {"tau2": "no key 'tasks'", "native": "no header"}),
        "runs.json: not a rollout file of a known format (2 tried; `likewise formats runs.json` says why none "
        "fits, --format forces one, --map reads any JSON by a mapping of your own)",
    ),
    (GroupError("two tasks"), "two tasks"),
    (
        ConfigError("likewise.toml", "a string", key="tools.x.class", expected="a table"),
        "likewise.toml, at tools.x.class: a string (expected a table)",
    ),
    (ConfigError("", "not TOML"), "configuration: not TOML"),
    (BackendError("the disk is full"), "the disk is full"),
    (LabelError("no relation", "yes", "no", raw_answer="maybe"), "no relation, for the pair 'yes' / 'no'"),
    (MissingExtraError("the service", "serve"), "the service needs an extra: pip install 'likewise[serve]'"),
    (
        AgentError(["timeout: no answer", "timeout: no answer", "empty: no words"]),
        "all 3 run(s) of the agent failed: 2 x timeout: no answer; empty: no words",
    ),
    (AgentError([]), "no run was made"),
    (UnreliableAnswerError(["runs 0 and 1 clash"]), "the answer may not be served: runs 0 and 1 clash"),
    (
        CheckpointError("model", "gamma", "a number below 1", "1.5"),
        "model, at gamma: expected a number below 1, found 1.5",
    ),
    (
        StoreUnavailableError("h.sqlite", "the disk is full", "free it"),
        "h.sqlite: the history is unavailable (the disk is full); free it",
    ),
    (LikewiseError("anything"), "anything"),
]
IDS = [type(error).__name__ for error, _ in EXAMPLES]


@pytest.mark.parametrize(("error", "message"), EXAMPLES, ids=IDS)
def test_an_error_says_what_is_wrong_and_where(error, message):
    assert str(error) == message


@pytest.mark.parametrize(("error", "message"), EXAMPLES, ids=IDS)
def test_an_error_travels_between_processes_with_all_its_fields(error, message):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == message
    assert vars(copy) == vars(error)


def test_every_error_of_the_module_has_an_example():
    assert {type(error).__name__ for error, _ in EXAMPLES} == set(errors.__all__)


@pytest.mark.parametrize(
    ("error", "standard"),
    [
        (RolloutFormatError, ValueError),
        (UnknownFormatError, ValueError),
        (GroupError, ValueError),
        (BackendError, RuntimeError),
        (LabelError, BackendError),
        (MissingExtraError, ImportError),
    ],
)
def test_an_error_is_also_the_standard_exception_it_stands_for(error, standard):
    assert issubclass(error, standard)
    assert issubclass(error, LikewiseError)


def test_long_texts_of_a_failed_pair_are_shown_by_their_start_and_kept_whole():
    error = LabelError("no relation", "a" * 1000, "b" * 1000)
    assert len(str(error)) < 250
    assert (error.first, error.second) == ("a" * 1000, "b" * 1000)
