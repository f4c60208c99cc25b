/** An agent that edits a repository until its tests pass: `node agent.ts`. */
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

/** Where a model is asked: what to change, by what the tests say. This one knows two mistakes. */
const proposal = (failure: string) =>
  failure.includes("18 != 12")
    ? { oldText: "sum(prices) + discount", newText: "sum(prices) - discount" }
    : { oldText: "sum(prices) - discount", newText: "max(0, sum(prices) - discount)" }

await using sandbox = await new Atoll().sandboxes.create()
for (const [path, text] of Object.entries(repository)) await sandbox.files.write(path, text)

for (let attempt = 1; attempt <= 5; attempt++) {
  const { exitCode, stderr } = await sandbox.run(["python3", "-Bm", "unittest"], { timeoutSeconds: 60 })
  console.log(`attempt ${attempt}: ${stderr.trim().split("\n").at(-1)}`)
  if (exitCode === 0) break
  await sandbox.files.edit("prices.py", proposal(stderr)) // fails if the file is not what was read
}
console.log(await sandbox.files.read("prices.py"))
