"""A service that is killed and started again in the middle of all of this: nothing twice, nothing missing. Each `KILL` that is said asks for it."""

from __future__ import annotations

import asyncio
import os
from typing import List

import atoll
from atoll import AsyncAtoll, AsyncSandbox
from support import AsyncBackground

STARTS = 12


def say(line: str) -> None:
    print(line, flush=True)


async def output(sandbox: AsyncSandbox) -> None:
    """A command writes while the service is not there."""
    said: List[str] = []

    def told(text: str) -> None:
        if not said:
            say("KILL")
        said.append(text)

    script = "echo once >> output; i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); sleep 0.02; done; exit 7"
    result = await sandbox.run(["sh", "-c", script], on_stdout=told)
    lines = "".join(f"line {number}\n" for number in range(300))
    assert result.stdout == lines == "".join(said), f"{len(result.stdout)} of {len(lines)} characters"
    assert result.exit_code == 7 and not result.truncated, result.operation
    assert await sandbox.files.read("output") == "once\n"


async def starts(sandbox: AsyncSandbox) -> None:
    """Commands are started all the while."""
    for number in range(STARTS):
        if number == 2:
            say("KILL")
        operation = await sandbox.start_command(["sh", "-c", f"echo {number} >> starts; sleep 0.2"])
        ended = await operation.wait()
        assert ended.status == "completed", ended
    text = await sandbox.files.read("starts")
    assert text == "".join(f"{number}\n" for number in range(STARTS)), text


async def made(client: AsyncAtoll) -> None:
    """Sandboxes are made, found again by their key, stopped, started and deleted all the while."""
    for number in range(3):
        key = f"{os.environ['MANNER']}-{number}"
        sandbox = await client.sandboxes.create(idempotency_key=key, metadata={"made": key})
        same = await client.sandboxes.create(idempotency_key=key, metadata={"made": key})
        assert same.id == sandbox.id
        await sandbox.stop()
        await sandbox.start()
        assert sandbox.record.generation == 2, sandbox.record
        found = [one.id async for one in client.sandboxes.list(metadata={"made": key})]
        assert found == [sandbox.id], found
        await sandbox.delete()


async def events(sandbox: AsyncSandbox, seen: List[atoll.TransitionEvent]) -> None:
    stream = sandbox.events()
    try:
        async for event in stream:
            seen.append(event)
            if event.kind == "sandbox" and event.to == "stopped":
                return
    finally:
        await stream.aclose()


async def main() -> None:
    async with AsyncAtoll(patience_seconds=240) as client:
        async with client.sandboxes.create() as sandbox:
            seen: List[atoll.TransitionEvent] = []
            watching = AsyncBackground(lambda: events(sandbox, seen))
            while not seen:
                await sandbox.run(["true"])
            making = AsyncBackground(lambda: made(client))
            await output(sandbox)
            await starts(sandbox)
            await making.result()
            await sandbox.stop()
            await watching.result()
            for operation in [one async for one in sandbox.operations() if one.record.argv[0] == "sh"]:
                stored = [step.revision async for step in operation.transitions()]
                revisions = [event.revision for event in seen if event.actor_id == operation.id]
                assert revisions == stored, f"{revisions} of {stored}"
            count = len([one async for one in sandbox.operations() if one.record.argv[0] == "sh"])
            assert count == STARTS + 1, f"{count} were started"


asyncio.run(main())
