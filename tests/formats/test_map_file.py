import pytest

from likewise.core.errors import ConfigError
from likewise.formats.field_map import Calls, FieldMap, Messages, Turns
from likewise.formats.map_file import read_map


@pytest.fixture
def mapped(write):
    return lambda text: read_map(write("map.toml", text))


def test_a_map_of_plain_answers(mapped):
    text = """
    task = ["set", "qid"]
    answer = "sample"
    run = "serial"
    records = "data.rows"
    model = "@folder"
    response_id = "id"
    """
    assert mapped(text) == FieldMap(
        task=("set", "qid"),
        answers=("sample",),
        run=("serial",),
        records="data.rows",
        facts=(("model", "@folder"), ("response_ids", "id")),
    )


def test_a_map_of_turns_with_calls(mapped):
    text = """
    task = "task_id"
    prompt = "prompt"
    system = "policy"
    success = "correct"
    reward = "score"
    error = "infra"
    status = "status"
    finished = ["completed"]
    cut = ["limit"]
    invalid = ["broken"]
    [turns]
    list = "turns"
    before = "heard"
    text = ["said", "shown"]
    after = "seen"
    [turns.call]
    name = ["kind", "url@path"]
    arguments = ["url@query", "payload"]
    only = { kind = ["get", "post"] }
    drop = ["_format"]
    instead_of_text = true
    """
    call = Calls(
        ("kind", "url@path"), ("url@query", "payload"), (("kind", ("get", "post")),), frozenset({"_format"}), True
    )
    assert mapped(text) == FieldMap(
        task=("task_id",),
        prompt=("prompt",),
        system=("policy",),
        success="correct",
        reward="score",
        error="infra",
        status="status",
        finished=frozenset({"completed"}),
        cut=frozenset({"limit"}),
        invalid=frozenset({"broken"}),
        turns=Turns("turns", ("said", "shown"), ("heard",), ("seen",), call),
    )


def test_a_map_of_messages(mapped):
    text = (
        'task = "q"\n[messages]\nlist = "history"\nrole = "name"\ntext = "said"\nagent = ["a", "b"]\nskip = "thought"'
    )
    assert mapped(text).messages == Messages("history", frozenset("ab"), "name", "said", skip=frozenset({"thought"}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('answer = "a"', r"map\.toml, at task: missing .expected the path of what names the task"),
        ('task = "t"', "at answer: missing .expected the path of the answer, or a table .turns. or .messages."),
        ('task = "t"\nanswr = "a"', "unknown key 'answr' .did you mean 'answer'"),
        ('task = ""\nanswer = "a"', "at task: no path"),
        ('task = 3\nanswer = "a"', "at task: a number"),
        ('task = "t"\nanswer = "a"\nsuccess = ["x"]', "at success: no path"),
        ('task = "t"\nanswer = "a"\ncut = "x"', "at cut: a string .expected a list of strings"),
        ('task = "t"\n[turns]\ntext = "a"', r"at turns\.list: missing"),
        ('task = "t"\n[turns]\nlist = "a"', r"at turns\.text: missing"),
        ('task = "t"\n[turns]\nlist = "a"\n[turns.call]\narguments = "x"', r"at turns\.call\.name: missing"),
        ('task = "t"\n[turns]\nlist = "a"\n[turns.call]\nname = "x"\ninstead_of_text = 1', "no boolean"),
        ('task = "t"\n[messages]\nlist = "a"', r"at messages\.agent: missing"),
        ('task = "t"\n[messages]\nlist = "a"\nagent = "x"\nroles = "y"', "unknown key 'roles' .did you mean 'role'"),
        ('task = "t"\n[messages]\nlist="a"\nagent="x"\n[turns]\nlist="a"\ntext="b"', "beside a table of turns"),
        ("task = ", "not TOML"),
    ],
)
def test_a_map_that_cannot_be_meant_is_refused_by_file_and_key(mapped, text, message):
    with pytest.raises(ConfigError, match=message):
        mapped(text)


def test_a_missing_map_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"gone\.toml: no such file"):
        read_map(tmp_path / "gone.toml")
