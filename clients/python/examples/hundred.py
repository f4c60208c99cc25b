"""A hundred Sandboxes at once: `python3 hundred.py [how many]`. The account must be allowed so many."""

import asyncio
import sys

import atoll


async def square(client: atoll.AsyncAtoll, n: int) -> int:
    lifetime = atoll.Lifetime(stop_after_seconds=600)
    async with client.sandboxes.create(name=f"square-{n}", lifetime=lifetime) as sandbox:
        result = await sandbox.run(["echo", str(n * n)])
        return int(result.stdout)


async def main(count: int) -> None:
    async with atoll.AsyncAtoll() as client:
        squares = await asyncio.gather(*(square(client, n) for n in range(count)))
    print(f"the sum of {count} squares is {sum(squares)}")


asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
