/**
 * `npx node test/system/host/kills.ts`: the service is killed at each effect of what its drivers do with real machines: a start, a spare, a stop, a deletion of a
 * namespace, a sleep and a waking of a virtual machine. `--seconds S`: only so long, evenly over all; `--seed S`: in another order.
 * Ctrl-C ends it after the present kill, and it says what it had seen; a second one ends it now.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { state } from "../../../src/proofs/Proved.ts"
import type { Kills } from "../../support/host/KillRounds.ts"
import { runStoppable } from "../../support/stoppableTests.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "7200" },
    seed: { type: "string", default: String(Date.now() % 1000) }
  }
})
const seconds = Number(values.seconds)
if (!(seconds > 0)) {
  console.error(`--seconds is a number above 0, not ${values.seconds}.`)
  process.exit(2)
}

const runtimes = [
  { name: "namespaces", file: "test/system/host/namespace/kills.test.ts" },
  { name: "virtual machines", file: "test/system/host/qemu/kills.test.ts" }
]

/** Of vitest's JSON reporter. */
interface Report {
  readonly testResults: ReadonlyArray<{
    readonly assertionResults: ReadonlyArray<{ readonly status: string; readonly meta: { readonly kills?: Kills } }>
  }>
}

let isStopped = false
process.on("SIGINT", () => {
  isStopped = true
})

const folder = mkdtempSync(join(tmpdir(), "atoll-kills-"))
const begun = Date.now()
let failures = 0
try {
  for (const [place, { name, file }] of runtimes.entries()) {
    if (isStopped) break
    const report = join(folder, `${place}.json`)
    console.log(`${name}: seed ${values.seed}`)
    const until = begun + (1000 * seconds * (place + 1)) / runtimes.length
    const code = await runStoppable(
      [file, "--disable-console-intercept", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`],
      { ATOLL_KILLS: "all", ATOLL_KILLS_SEED: values.seed, ATOLL_KILLS_UNTIL: String(until) },
      "ATOLL_KILLS_STOP"
    )
    const tests = existsSync(report)
      ? (JSON.parse(readFileSync(report, "utf8")) as Report).testResults.flatMap((one) => one.assertionResults)
      : []
    const failed = tests.filter(({ status }) => status === "failed").length + (tests.length === 0 ? 1 : 0)
    failures += failed + (code !== 0 && failed === 0 ? 1 : 0)
    const kills = tests.flatMap(({ meta }) => meta.kills ?? [])
    // It was skipped: this machine has no such runtime.
    if (kills.length === 0 && failed === 0) continue
    const sum = kills.reduce((all, one) => all + one.kills, 0)
    const effects = kills.reduce<number | null>(
      (all, one) => (all === null || one.effects === null ? null : all + one.effects),
      0
    )
    const amount = `${effects === null ? "" : `${effects} effects, `}${sum} kills`
    console.log(`${name}: ${amount}, ${failed} violations`)
    state({
      type: "row",
      what: `the service killed at each effect of its driver, with real ${name}`,
      amount,
      seed: values.seed,
      violations: failed
    })
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = failures === 0 ? 0 : 1
