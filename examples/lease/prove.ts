/**
 * `node examples/lease/prove.ts [--seconds S] [--runs N] [--seed N]`: explores the lock with three clients to the end, then sweeps random scenarios with a
 * crash at each effect, until the time is over or so many scenarios are swept. Ctrl-C says what was seen.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { ActorDatabase } from "atoll/engine"
import { explore, summaryLine, violationText } from "atoll/proofs"
import { Effect, References } from "effect"
import { lockMachine } from "./lock.ts"
import { lockProduct } from "./product.ts"
import { actsOf, sweep } from "./sweep.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    runs: { type: "string", default: "1000000" },
    seed: { type: "string", default: "1" }
  }
})
const actsMax = 8

const stop = new AbortController()
process.once("SIGINT", () => stop.abort())
const began = performance.now()
const secondsLeft = () => Number(values.seconds) - (performance.now() - began) / 1000

const explored = await explore(lockProduct(lockMachine, ["ann", "ben", "eve"]), {
  seconds: secondsLeft(),
  signal: stop.signal
})
console.log(summaryLine(explored))
for (const violation of explored.violations) console.log(violationText(violation))

const seen = { scenarios: 0, effects: 0, crashes: 0, faults: 0 }
const said = () => {
  const rate = (seen.crashes / ((performance.now() - began) / 1000)).toFixed(1)
  return `${seen.scenarios} scenarios, ${seen.effects} effects, ${seen.crashes} crashes (${rate} a second), ${seen.faults} violations`
}

const sweeps = Effect.gen(function* () {
  for (let run = 0; run < Number(values.runs) && secondsLeft() > 0 && !stop.signal.aborted; run++) {
    const seed = Number(values.seed) + run
    const swept = yield* sweep(actsOf(seed, actsMax))
    for (const fault of swept.faults) console.log(`seed ${seed}, ${fault}`)
    seen.scenarios++
    seen.effects += swept.effects
    seen.crashes += swept.crashes
    seen.faults += swept.faults.length
    console.log(`  seed ${seed}: ${said()}, ends in ${Math.max(0, Math.ceil(secondsLeft()))} s`)
  }
})

const folder = mkdtempSync(join(tmpdir(), "lease-"))
// As root, the server runs as another user.
chmodSync(folder, 0o711)
try {
  await Effect.runPromise(
    sweeps.pipe(
      Effect.provide(ActorDatabase.layer({ dataDir: folder })),
      Effect.provideService(References.MinimumLogLevel, "Warn")
    )
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(`lease, from seed ${values.seed}: ${said()}${stop.signal.aborted ? ", stopped" : ""}`)
process.exitCode = explored.violations.length + seen.faults === 0 ? 0 : 1
