import json

import pytest

from likewise.core.errors import RolloutFormatError, UnknownFormatError
from likewise.core.rollout import Action, Observation, StopReason, Turn
from likewise.formats import read_rollouts
from likewise.formats.identity import CACHED


def runs(found):
    return [(each.task_id, each.run_id, each.answer) for each in found]


def test_a_csv_file_of_answers_is_read_by_its_usual_columns(write):
    path = write("t.csv", "qid,query,sample\nq1,How many?,8\nq1,How many?,8 mails\nq2,Which?,red\n")
    found = read_rollouts(path)
    assert found.files == ((str(path), "table"),)
    assert runs(found) == [("q1", "t#0", "8"), ("q1", "t#1", "8 mails"), ("q2", "t#0", "red")]
    assert found.rollouts[0].turns == (Turn((Observation("user", "How many?"),), Action("8")),)
    assert {each.stop for each in found} == {StopReason.FINISHED}
    assert found.warnings == ()


def test_a_folder_is_searched_for_tables(write, tmp_path):
    write("a.csv", "question,response\nQ,x\n")
    write("b.tsv", "question\tresponse\nQ\ty\n")
    assert runs(read_rollouts(tmp_path)) == [("Q", "a#0", "x"), ("Q", "b#0", "y")]


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_json_lines_and_a_json_list_of_answers_are_read(write, name):
    rows = [{"prompt": "Q", "response": text, "model": "m"} for text in ("x", "y")]
    content = rows if name.endswith(".json") else "".join(json.dumps(row) + "\n" for row in rows)
    found = read_rollouts(write(name, content))
    assert found.files[0][1] == "table"
    assert runs(found) == [("Q", "t#0", "x"), ("Q", "t#1", "y")]
    assert found.rollouts[0].meta["model"] == "m"


def test_a_parquet_file_of_answers_is_read(tmp_path):
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({"task_id": ["t", "t"], "output": ["x", None], "success": [True, False]})
    parquet.write_table(table, tmp_path / "t.parquet")
    found = read_rollouts(tmp_path)
    assert runs(found) == [("t", "t#0", "x"), ("t", "t#1", None)]
    assert [each.problem for each in found] == [None, "no answer is recorded"]


@pytest.mark.parametrize(
    ("header", "row", "task", "answer"),
    [
        ("Task ID,Model Output", "t,x", "t", "x"),
        ("taskId,completion", "t,x", "t", "x"),
        ("question,answer,response", "Q,gold,x", "Q", "x"),
        ("question,answer", "Q,x", "Q", "x"),
        ("prompt,generation,sample", "Q,x,0", "Q", "x"),
        ("id,question,response", "1,Q,x", "Q", "x"),
    ],
)
def test_columns_are_known_whatever_their_case_and_marks(write, header, row, task, answer):
    (rollout,) = read_rollouts(write("t.csv", f"{header}\n{row}\n"))
    assert (rollout.task_id, rollout.answer) == (task, answer)


def test_a_column_id_names_the_tasks_where_rows_share_it_and_the_rows_where_they_do_not(write):
    shared = write("a.csv", "id,question,response\n1,Q,x\n1,Q,y\n2,R,z\n")
    assert [each.task_id for each in read_rollouts(shared)] == ["1", "1", "2"]
    own = write("b.csv", "id,question,response\n1,Q,x\n2,Q,y\n3,R,z\n")
    assert [each.task_id for each in read_rollouts(own)] == ["Q", "Q", "R"]


def test_several_answers_in_one_row_are_several_runs(write):
    numbered = write("a.csv", "question,response_10,response_2,response_1\nQ,c,b,a\n")
    assert runs(read_rollouts(numbered)) == [("Q", "a#0", "a"), ("Q", "a#1", "b"), ("Q", "a#2", "c")]
    listed = write("b.jsonl", '{"prompt": "Q", "responses": ["a", "b"]}\n')
    assert runs(read_rollouts(listed)) == [("Q", "b#0", "a"), ("Q", "b#1", "b")]
    sampled = write("c.jsonl", '{"prompt": "Q", "response": "a", "sampled_responses": ["b", "c"]}\n')
    assert runs(read_rollouts(sampled)) == [("Q", "c#0", "a"), ("Q", "c#1", "b"), ("Q", "c#2", "c")]


def test_columns_of_runs_outcomes_and_facts_are_used(write):
    header = "task,trial,response,score,correct,model,response_id,cached,timestamp,error"
    rows = ["t,3,x,0.5,yes,m,r1,true,2026-01-01T10:00:00,", "t,4,,0.0,no,m,r2,false,2026-01-01T10:00:09,timeout"]
    found = read_rollouts(write("t.csv", "\n".join([header, *rows]) + "\n"))
    first, second = found
    assert (first.run_id, first.reward, first.success) == ("t#3", 0.5, True)
    expected = {"model": "m", "response_ids": ["r1"], "cached": True, "started": "2026-01-01T10:00:00"}
    assert {key: first.meta[key] for key in expected} == expected
    assert (second.problem, second.reward, second.success) == ("infra_error: timeout", None, None)


def test_issue_452_blank_answers_are_no_answers(write):
    found = read_rollouts(write("t.csv", "task,response\nt,\nt, \nt,x\n"))
    assert [each.problem for each in found] == ["no answer is recorded", "no answer is recorded", None]


def test_repeats_with_one_response_id_are_told_to_be_copies(write):
    found = read_rollouts(write("t.csv", "task,response,response_id\nt,x,r1\nt,x,r1\nt,x,r2\n"))
    assert len(found) == 3
    assert [any("same response id" in note for note in each.notes) for each in found] == [False, True, False]


def test_rows_that_say_that_they_came_from_a_cache_are_told(write):
    rows = [f"1,x,{said}" for said in ("true", "True", "1", "false", "0", "no", "")]
    found = read_rollouts(write("t.csv", "task_id,response,cached\n" + "\n".join(rows)))
    assert [CACHED in rollout.notes for rollout in found] == [True] * 3 + [False] * 4
    assert found.warnings[0].startswith("3 runs hold answers that came from a cache")


def test_a_run_that_is_named_twice_counts_once_where_it_is_the_same_and_stays_where_it_is_not(write):
    found = read_rollouts(write("t.csv", "task_id,run,response\n1,0,a\n1,0,a\n1,0,b\n"))
    assert [(each.run_id, each.answer) for each in found] == [("t#0", "a"), ("t#0~2", "b")]
    assert [item.reason.split(" of run")[0] for item in found.excluded] == ["duplicate"]


def test_equal_rows_without_ids_are_runs_that_agree(write):
    found = read_rollouts(write("t.csv", "task,response\nt,x\nt,x\n"))
    assert (len(found), found.warnings) == (2, ())


def test_a_table_without_usual_columns_lists_those_that_it_has(write):
    path = write("t.csv", "frage,antwort\nQ,x\n")
    with pytest.raises(
        RolloutFormatError, match=r"no column for the task and the answer; there are frage, antwort .*--map"
    ):
        read_rollouts(path)
    (rollout,) = read_rollouts(path, mapping=write("m.toml", 'task = "frage"\nanswer = "antwort"'))
    assert (rollout.task_id, rollout.answer) == ("Q", "x")


def test_json_lines_without_usual_keys_are_declined_with_the_keys_found(write):
    with pytest.raises(UnknownFormatError) as caught:
        read_rollouts(write("t.jsonl", '{"frage": "Q", "antwort": "x"}\n'))
    assert caught.value.declined["table"] == "no column for a task and an answer (found: antwort, frage)"


def test_records_with_messages_are_not_taken_for_plain_answers(write):
    record = {"task_id": "t", "messages": [{"role": "assistant", "content": "x"}], "response": "x"}
    assert read_rollouts(write("t.jsonl", json.dumps(record))).files[0][1] == "openai-chat"


@pytest.mark.parametrize(
    "record",
    [{"task_id": "t", "steps": [], "output": "x"}, {"task_id": "t", "response": {"text": "x"}}, {"task_id": "t"}],
)
def test_records_of_another_shape_are_not_taken_for_plain_answers(write, record):
    with pytest.raises(UnknownFormatError):
        read_rollouts(write("t.jsonl", json.dumps(record)))


def test_a_long_prompt_names_its_task_shortened(write):
    (rollout,) = read_rollouts(write("t.csv", f"prompt,response\n{'word ' * 60},x\n"))
    assert len(rollout.task_id) < 100


def test_one_json_object_may_be_anything_and_is_a_table_only_where_its_file_is_json_lines(write):
    record = '{"task": "t", "answer": "x"}'
    with pytest.raises(UnknownFormatError) as caught:
        read_rollouts(write("summary.json", record))
    assert caught.value.declined["table"] == "one JSON object is no table"
    assert runs(read_rollouts(write("t.jsonl", record))) == [("t", "t#0", "x")]
    assert runs(read_rollouts(write("log.txt", f"{record}\n{record}"))) == [("t", "log#0", "x"), ("t", "log#1", "x")]
    assert runs(read_rollouts(write("t.json", record), format="table")) == [("t", "t#0", "x")]
