"""A history to look at: real verdicts of the layer on scripted answers, in a real database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_OID, uuid5

import anyio
import numpy as np

from judges import LetterEncoder, TableJudge
from likewise import ReliabilityLayer
from likewise.core.labels import Relation
from likewise.reliability.agents import current_run
from likewise.reliability.policy import Mode, Policy
from likewise.store.records import Origin, VerdictRecord
from likewise.store.writer import VerdictWriter

PASSWORD = "correct horse battery"
YES = "A refund is possible within 30 days. Bring the receipt."
ALSO = "You may return it within 30 days. Bring the receipt."
NO = "A refund is not possible. All sales are final."
ATTACK = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "</script><svg onload=document.title='owned'>'\"]]>--><a href=\"javascript:document.title='owned'\">x</a>"
)
TODAY = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0)


def judge():
    """Sentences that allow a refund against sentences that do not; all others are neutral."""
    allowing = [YES, ALSO, "A refund is possible within 30 days.", "You may return it within 30 days."]
    forbidding = [NO, "A refund is not possible.", "All sales are final."]
    relations = {(a, b): Relation.CONTRADICTORY for a in allowing for b in forbidding}
    relations |= {(a, b): Relation.EQUIVALENT for a in allowing for b in allowing if a != b}
    relations |= {(a, b): Relation.EQUIVALENT for a in forbidding for b in forbidding if a != b}
    return TableJudge(relations)


def verdict_of(*answers, query="Can I get a refund?", sources=None, mode=Mode.STANDARD):
    """What the layer says of these answers."""
    layer = ReliabilityLayer(policy=Policy(mode, runs=len(answers)), judge=judge(), encoder=LetterEncoder())

    def agent(query):
        answer = answers[current_run().index]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return layer.wrap(agent).query(query, **({} if sources is None else {"sources": sources}))


def record_of(verdict, *, agent="support", version="1", task="refund", days=0, minutes=0, id=None, model="small"):
    """As it is stored; `days` before today."""
    created = TODAY - timedelta(days=days) + timedelta(minutes=minutes)
    origin = Origin(agent=agent, version=version, model=model, task=task, route="/v1/analyze")
    return VerdictRecord.of(verdict, origin, created=created, id=id)


def write(store, records):
    """Store them all."""

    async def put_all():
        async with VerdictWriter(store) as writer, anyio.create_task_group() as tasks:
            for record in records:
                tasks.start_soon(writer.put, record)

    anyio.run(put_all)


def lives(generator=None, *, agent="support", good=0.95, bad=0.55, days=16, turn=5, until=0, per_day=12):
    """Records of an agent that contradicts itself more often from `turn` days before today on, with version 2.

    From `days` before today to `until`, which is negative for days to come.
    """
    generator = generator or np.random.default_rng(0)
    alike, split = verdict_of(YES, ALSO, YES), verdict_of(YES, NO, YES)
    records = []
    for day in range(days, until - 1, -1):
        for i in range(per_day):
            fine = generator.random() < (good if day > turn else bad)
            version = "1" if day > turn else "2"
            # A random id would decide ties by luck, and one history in sixty would alarm.
            id = uuid5(NAMESPACE_OID, f"{agent} {version} {day} {i}").hex
            shown = alike if fine else split
            records.append(record_of(shown, agent=agent, version=version, days=day, minutes=i, id=id))
    return records
