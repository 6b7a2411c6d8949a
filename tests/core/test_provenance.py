"""Who ran: what is read off a run, and when two runs differ. Refusals: evaluation/test_cautions.py."""

import hashlib

import pytest

from likewise.core.provenance import Mixtures, identity, is_cached, response_ids, sha256, times
from likewise.core.rollout import Action, Observation, Rollout, Turn


def run(run_id="1", system=None, task="t", **meta):
    seen = () if system is None else (Observation("system", system), Observation("user", "Hi."))
    return Rollout(task, run_id, (Turn(seen, Action("a")),), meta=meta)


def test_facts_that_are_there_and_plain_make_the_identity():
    meta = {"model": "m", "agent": "a", "seed": 3, "domain": None, "policy_sha256": "", "prompt_sha256": ["x"]}
    assert identity(run(**meta)) == {"model": '"m"', "agent": '"a"'}


def test_a_digest_holds_for_every_text():
    assert sha256("é") == hashlib.sha256("é".encode()).hexdigest()
    assert sha256("\ud800") != sha256("\ud801")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Be kind.", "Be kind.", True),
        ("Be kind.", "Be kind!", False),
        ("On 2026-01-31 at 9:15", "On 2027-12-01 at 18:45:10", True),
        ("Now 2026-01-31T09:15:00.5+02:00.", "Now 2027-12-01 18:45.", True),
        ("Ticket 2026", "Ticket 2027", False),
        ("Ratio 3:12", "Ratio 4:13", True),  # reads like a time: a difference that is not seen
        (None, "Be kind.", True),  # a run that tells no prompt does not have another one
    ],
)
def test_system_prompts_that_differ_in_date_or_time_only_are_one(one, other, same):
    mixtures = Mixtures()
    mixtures.add(run("1", one))
    mixtures.add(run("2", other))
    assert (mixtures.found() == []) is same


def test_a_mixture_names_the_first_run_of_each_value_in_order():
    mixtures = Mixtures()
    for number, model in enumerate("bab"):
        mixtures.add(run(str(number), model=model))
    mixtures.add(run("9", task="u", model="c"))
    (found,) = mixtures.found()
    assert (found.task_id, found.fact, found.values) == ("t", "model", (('"b"', "0"), ('"a"', "1")))


def test_other_facts_are_read_where_they_have_their_type():
    told = run(response_ids=["a", "", 3, "b"], cached=True, started=1.5, ended="2")
    assert (response_ids(told), is_cached(told), times(told)) == (("a", "b"), True, ("1.5", "2"))
    untold = run(response_ids="a", cached="true", started="1")
    assert (response_ids(untold), is_cached(untold), times(untold)) == ((), False, None)
