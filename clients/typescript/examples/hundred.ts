/** A hundred Sandboxes at once: `node hundred.ts [how many]`. The account must be allowed so many. */
import { Atoll } from "@atoll/client"

const atoll = new Atoll()
const count = Number(process.argv[2] ?? 100)

const square = async (n: number): Promise<number> => {
  await using sandbox = await atoll.sandboxes.create({ name: `square-${n}`, lifetime: { stopAfterSeconds: 600 } })
  const { stdout } = await sandbox.run(["echo", `${n * n}`])
  return Number(stdout)
}

const squares = await Promise.all(Array.from({ length: count }, (_, n) => square(n)))
console.log(`the sum of ${count} squares is ${squares.reduce((sum, square) => sum + square, 0)}`)
