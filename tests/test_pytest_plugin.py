"""The pytest plugin, as a user's pytest finds it: by its entry point."""

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

JUDGE = """
    import pytest
    from likewise.core.labels import Judgement, Relation

    class Table:
        judge_id = "table"

        def judge(self, pairs, progress=None):
            for a, b in pairs:
                clash = {a, b} == {"Yes.", "No."}
                yield Judgement.certain(Relation.CONTRADICTORY if clash else Relation.NEUTRAL, "nli")

    class Letters:
        encoder_id = "letters"

        def encode(self, texts):
            import numpy as np
            rows = np.array([[t.lower().count(chr(97 + i)) for i in range(26)] for t in texts], dtype="float32")
            return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    @pytest.fixture(scope="session")
    def likewise_judge():
        return Table()

    @pytest.fixture(scope="session")
    def likewise_encoder():
        return Letters()
"""


@pytest.fixture
def user(pytester):
    """A user's folder: run their tests with a judge that needs no model."""
    pytester.makeconftest(JUDGE)

    def _run(tests, *arguments):
        pytester.makepyfile(tests)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "--strict-markers", *arguments)

    return _run


def test_an_agent_that_answers_alike_passes_and_one_that_does_not_fails_with_the_number(user):
    result = user("""
        from itertools import cycle

        def test_alike(consistency):
            score = consistency(lambda query: "Yes.", "Is it open?", k=4, min_agreement=0.9, max_rsd=0.1)
            assert score.rsd.value == 0.0 and len(score.valid) == 4

        def test_apart(consistency):
            answers = cycle(["Yes.", "No."])
            consistency(lambda query: next(answers), "Is it open?", k=4, min_agreement=0.9)
    """)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*task test_apart: agreement 0.5 < 0.9*",
            "*strongest contradiction (1.00, turn 0):*",
            "*run 1: Yes.*",
            "*run 2: No.*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_the_marker_gives_defaults_that_a_call_overrides(user):
    result = user("""
        import pytest
        from itertools import count

        @pytest.mark.consistency(k=3, max_contradiction=0.5)
        def test_marked(consistency):
            number = count()
            answers = ["Yes.", "No.", "Yes."]
            agent = lambda query: answers[next(number)]
            consistency(agent, "q", max_contradiction=None)
            number = count()
            consistency(agent, "q")
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*task test_marked: contradiction_max 1 > 0.5*"])


def test_a_run_that_raises_is_counted_and_two_good_runs_are_needed(user):
    result = user("""
        from itertools import count

        def failing(*numbers):
            number = count()
            def agent(query):
                if next(number) in numbers:
                    raise TimeoutError("slow")
                return "Yes."
            return agent

        def test_one_failed(consistency):
            score = consistency(failing(0), "q", k=3)
            assert (len(score.rollouts), len(score.valid)) == (3, 2)

        def test_two_failed(consistency):
            consistency(failing(0, 1), "q", k=3)

        def test_all_failed(consistency):
            consistency(failing(0, 1, 2), "q", k=3)
    """)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*not measured: 1 of 3 runs did not fail (TimeoutError: slow; TimeoutError: slow)*"])
    result.stdout.fnmatch_lines(["*all 3 runs failed: TimeoutError: slow*"])


def test_recorded_runs_are_checked_with_gates_and_settings(user, pytester, line):
    lines = [line("same", run, ["Yes."]) for run in "12"] + [line("apart", run, [text]) for run, text in ("1a", "2b")]
    pytester.path.joinpath("runs.jsonl").write_text("\n".join(lines) + "\n")
    pytester.path.joinpath("likewise.toml").write_text(
        '[gates]\nfail_on = ["rsd > 0.1"]\n[gates.tasks.apart]\nskip = ["rsd"]\n'
    )
    result = user("""
        def test_gate(consistency):
            consistency.recorded("runs.jsonl", fail_on=["rsd > 0.1"])

        def test_settings(consistency):
            evaluation = consistency.recorded("runs.jsonl", config="likewise.toml")
            assert evaluation.summary.tasks == 2

        def test_outcomes(consistency):
            consistency.recorded("runs.jsonl", fail_on="mean success_rate < 1")
    """)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*task apart: rsd 0.5 > 0.1*"])


def test_numbers_end_in_pytests_own_junit_file(user, pytester):
    user(
        """
        def test_alike(consistency):
            consistency(lambda query: "Yes.", "q", k=2, passes=lambda output: True)
    """,
        "--junitxml=out.xml",
    ).assert_outcomes(passed=1)
    text = pytester.path.joinpath("out.xml").read_text()
    assert 'name="likewise_rsd" value="0"' in text
    assert 'name="likewise_success_rate" value="1"' in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("consistency(lambda q: 'x', 'q', k=2, min_aggreement=0.5)", "*no threshold min_aggreement; there are max_*"),
        ("consistency(lambda q: 'x', 'q', k=2, fail_on=['rds > 1'])", "*no figure 'rds' (did you mean 'rsd'?)*"),
        ("consistency(lambda q: 'x', 'q', k=1)", "*at least two, got k = 1*"),
        ("consistency(lambda q: 7, 'q', k=2)", "*the agent gave int; it should give text*"),
        ("consistency.recorded('gone.jsonl')", "*gone.jsonl*"),
    ],
)
def test_mistakes_are_named_before_any_agent_is_paid(user, call, message):
    result = user(f"def test_it(consistency):\n    {call}\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message])


def test_a_marker_with_positions_is_refused(user):
    result = user("""
        import pytest

        @pytest.mark.consistency(5)
        def test_it(consistency):
            pass
    """)
    assert "takes keywords only" in result.stdout.str() + result.stderr.str()


def test_loading_the_plugin_loads_nothing_heavy():
    heavy = ("numpy", "onnxruntime", "rich", "typer", "jinja2", "likewise.evaluation", "likewise.metrics", "tokenizers")
    code = f"import pytest, likewise.pytest_plugin, sys; print([m for m in {heavy!r} if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == "[]"


@pytest.mark.model
def test_the_embedded_judge_is_used_where_no_other_is_given(pytester):
    pytester.makepyfile("""
        def test_alike(consistency):
            consistency(lambda query: "The booking is cancelled.", "q", k=2, max_rsd=0.1)
    """)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
