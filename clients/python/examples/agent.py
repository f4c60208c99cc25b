"""An agent that edits a repository until its tests pass: `python3 agent.py`."""

from typing import Tuple

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


def proposal(failure: str) -> Tuple[str, str]:
    """Where a model is asked: what to change, by what the tests say. This one knows two mistakes."""
    if "18 != 12" in failure:
        return "sum(prices) + discount", "sum(prices) - discount"
    return "sum(prices) - discount", "max(0, sum(prices) - discount)"


with atoll.Atoll() as client, client.sandboxes.create() as sandbox:
    for path, text in REPOSITORY.items():
        sandbox.files.write(path, text)
    for attempt in range(1, 6):
        tests = sandbox.run(["python3", "-Bm", "unittest"], timeout_seconds=60)
        print(f"attempt {attempt}: {tests.stderr.strip().splitlines()[-1]}")
        if tests.exit_code == 0:
            break
        old_text, new_text = proposal(tests.stderr)
        sandbox.files.edit("prices.py", old_text=old_text, new_text=new_text)  # fails if the file is not what was read
    print(sandbox.files.read("prices.py"))
