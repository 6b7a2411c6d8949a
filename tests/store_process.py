"""A process that writes verdicts, for tests that run several of it, or kill it, or take its disk away.

python store_process.py URL put PREFIX COUNT SHARED     COUNT verdicts at once, SHARED more under names all share
python store_process.py URL forever PREFIX              one after another, a line for each that was acknowledged
python store_process.py URL fill LIMIT                  until the disk is full at LIMIT bytes, then with room again
"""

from __future__ import annotations

import asyncio
import resource
import sys
from dataclasses import replace

from likewise.core.errors import StoreUnavailableError
from likewise.store.store import Store
from likewise.store.writer import VerdictWriter
from verdicts_factory import NO, YES, record_of

ONE = record_of(YES, NO)


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def put(writer, prefix, count, shared):
    names = [f"{prefix}{i}" for i in range(count)] + [f"shared{i}" for i in range(shared)]
    await asyncio.gather(*(writer.put(replace(ONE, id=name)) for name in names))
    say(str(len(names)))


async def forever(writer, prefix):
    counter = iter(range(10**9))

    async def one():
        while True:
            name = f"{prefix}{next(counter)}"
            await writer.put(replace(ONE, id=name))
            say(name)

    await asyncio.gather(*(one() for _ in range(20)))


async def fill(writer, limit):
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    number = 0
    try:
        while True:
            await writer.put(replace(ONE, id=f"v{number}"))
            number += 1
    except StoreUnavailableError as problem:
        say(f"{number} {problem}")
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await writer.put(replace(ONE, id="with room again"))
    say("recovered")


async def main(url, what, *arguments):
    numbers = [int(each) if each.isdigit() else each for each in arguments]
    with Store.open(url, upgrade=False) as store:
        async with VerdictWriter(store, put_timeout=60, retry_for=1 if what == "fill" else 30) as writer:
            await {"put": put, "forever": forever, "fill": fill}[what](writer, *numbers)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
