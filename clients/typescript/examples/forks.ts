/** Five fixes tried at the same time in five forks; the one whose tests pass is kept: `node forks.ts`. */
import { Atoll } from "@atoll/client"

const repository = {
  "prices.py": "def total(prices, discount):\n    return sum(prices) + discount\n",
  "test_prices.py": `import unittest
from prices import total

class Total(unittest.TestCase):
    def test_subtracts_the_discount(self):
        self.assertEqual(total([10, 5], 3), 12)

    def test_is_never_negative(self):
        self.assertEqual(total([1], 3), 0)
`
}

/** Where a model is asked five times. */
const fixes = [
  "sum(prices)",
  "sum(prices) - discount",
  "abs(sum(prices) - discount)",
  "max(0, sum(prices) - discount)",
  "max(0, sum(prices) + discount)"
]

await using sandbox = await new Atoll().sandboxes.create()
for (const [path, text] of Object.entries(repository)) await sandbox.files.write(path, text)

const { sandboxes } = await sandbox.fork({ count: fixes.length, lifetime: { stopAfterSeconds: 600 } })
const tries = sandboxes.map(async (fork, n) => {
  await fork.files.edit("prices.py", { oldText: "sum(prices) + discount", newText: fixes[n]! })
  const { exitCode } = await fork.run(["python3", "-Bm", "unittest"], { timeoutSeconds: 60 })
  console.log(`${fixes[n]} ${exitCode === 0 ? "passes" : "fails"}`)
  if (exitCode !== 0) await fork.delete()
  return exitCode === 0 ? [fork] : []
})
for (const kept of (await Promise.all(tries)).flat())
  console.log(`kept ${kept.id}:\n${await kept.files.read("prices.py")}`)
