"""Everything over connections that are cut at random bytes: nothing twice, nothing missing."""

from __future__ import annotations

import asyncio
import os
from typing import List

import atoll
from atoll import AsyncAtoll
from support import AsyncBackground

TURNS = range(1, 4)
PIECES = 20


async def main() -> None:
    async with AsyncAtoll(patience_seconds=120) as client:
        async with client.sandboxes.create() as sandbox:
            seen: List[atoll.TransitionEvent] = []

            async def watch() -> None:
                events = sandbox.events()
                try:
                    async for event in events:
                        seen.append(event)
                        if event.kind == "sandbox" and event.to == "stopped":
                            return
                finally:
                    await events.aclose()

            watching = AsyncBackground(watch)
            while not seen:
                if watching.done:
                    await watching.result()
                await sandbox.run(["true"])
            told = seen[0].actor_id
            for turn in TURNS:
                script = (
                    f"echo {turn} >> twice; "
                    f"for i in $(seq {PIECES}); do seq {turn}00000 {turn}01000; sleep 0.02; done; echo end >&2"
                )
                result = await sandbox.run(["sh", "-c", script])
                lines = "".join(f"{turn}{number:05}\n" for number in range(1001))
                assert result.stdout == lines * PIECES, f"{len(result.stdout)} characters of turn {turn}"
                assert result.stderr == "end\n", result.stderr
            assert await sandbox.files.read("twice") == "".join(f"{turn}\n" for turn in TURNS)

            content = os.urandom(20_000)
            written = False
            while not written:
                # Not asked again by the library: its answer may have been lost. It is the same file each time.
                try:
                    await sandbox.files.write("content", content)
                    written = True
                except atoll.ConnectionError as error:
                    assert error.outcome == "unknown", error
            assert await sandbox.files.read_bytes("content") == content

            await sandbox.stop()
            await watching.result()
            operations = [operation async for operation in sandbox.operations()]
            slow = [operation for operation in operations if operation.record.argv[0] == "sh"]
            assert len(slow) == len(TURNS), "None was started twice."
            for operation in slow:
                stored = [step.revision async for step in operation.transitions()]
                revisions = [event.revision for event in seen if event.actor_id == operation.id]
                assert operation.id != told and revisions == stored, f"{revisions} of {stored}"


asyncio.run(main())
