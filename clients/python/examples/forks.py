"""Five fixes tried at the same time in five forks; the one whose tests pass is kept: `python3 forks.py`."""

import asyncio

import atoll

REPOSITORY = {
    "prices.py": "def total(prices, discount):\n    return sum(prices) + discount\n",
    "test_prices.py": """import unittest
from prices import total

class Total(unittest.TestCase):
    def test_subtracts_the_discount(self):
        self.assertEqual(total([10, 5], 3), 12)

    def test_is_never_negative(self):
        self.assertEqual(total([1], 3), 0)
""",
}

# Where a model is asked five times.
FIXES = [
    "sum(prices)",
    "sum(prices) - discount",
    "abs(sum(prices) - discount)",
    "max(0, sum(prices) - discount)",
    "max(0, sum(prices) + discount)",
]


async def attempt(fork: atoll.AsyncSandbox, fix: str) -> None:
    await fork.files.edit("prices.py", old_text="sum(prices) + discount", new_text=fix)
    tests = await fork.run(["python3", "-Bm", "unittest"], timeout_seconds=60)
    print(f"{fix} {'passes' if tests.exit_code == 0 else 'fails'}")
    if tests.exit_code == 0:
        print(f"kept {fork.id}:\n{await fork.files.read('prices.py')}")
    else:
        await fork.delete()


async def main() -> None:
    async with atoll.AsyncAtoll() as client, client.sandboxes.create() as sandbox:
        for path, text in REPOSITORY.items():
            await sandbox.files.write(path, text)
        made = await sandbox.fork(len(FIXES), lifetime=atoll.Lifetime(stop_after_seconds=600))
        await asyncio.gather(*map(attempt, made.sandboxes, FIXES))


asyncio.run(main())
