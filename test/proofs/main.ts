/**
 * `npm run explore -- [--scope NAME] [--depth N] [--seconds S] [--memory MB]`: explores the products of the machines, one after the other, or one of
 * them. Ctrl-C ends the present one, and says what was seen.
 */
import { parseArgs } from "node:util"
import { type Explored, explore } from "../../src/proofs/explore/explore.ts"
import {
  coverageText,
  progressLine,
  summaryLine,
  violationLinks,
  violationText
} from "../../src/proofs/explore/summary.ts"
import { state } from "../../src/proofs/Proved.ts"
import { productOf, type ScopeName, scopeNames, sentenceOf } from "./product/scopes.ts"

const tellEveryMs = 2_000
const bytesOfMb = 1024 * 1024

const { values } = parseArgs({
  options: {
    scope: { type: "string" },
    depth: { type: "string" },
    seconds: { type: "string", default: "600" },
    memory: { type: "string", default: "2048" }
  }
})

/** The Machines page of the console shows what customers have; hosts are the operator's. */
const hasSimulator = (kind: string): boolean => kind !== "host"

const isScope = (name: string): name is ScopeName => (scopeNames as ReadonlyArray<string>).includes(name)

const asked = values.scope === undefined ? scopeNames : values.scope.split(",").filter(isScope)
if (asked.length === 0) {
  console.error(
    `There is no scope ${values.scope}. These are: ${scopeNames.map((name) => `${name} (${sentenceOf(name)})`).join(", ")}.`
  )
  process.exit(1)
}

for (const name of ["depth", "seconds", "memory"] as const) {
  const value = values[name]
  if (value === undefined || Number(value) > 0) continue
  console.error(`--${name} is a number above 0, not ${value}.`)
  process.exit(2)
}

const stop = new AbortController()
process.once("SIGINT", () => stop.abort())

const seconds = Number(values.seconds) / asked.length
const limits = {
  ...(values.depth === undefined ? {} : { depth: Number(values.depth) }),
  seconds,
  bytes: Number(values.memory) * bytesOfMb,
  signal: stop.signal
}

const all: Array<Explored> = []
for (const name of asked) {
  if (stop.signal.aborted) break
  console.log(`${name}: ${sentenceOf(name)}`)
  let toldAt = performance.now()
  const product = productOf(name)
  const explored = await explore(product, limits, (progress) => {
    if (performance.now() - toldAt < tellEveryMs) return
    toldAt = performance.now()
    console.log(`  ${progressLine(name, progress, seconds)}`)
  })
  console.log(summaryLine(explored))
  for (const violation of explored.violations) {
    console.log(`\n${violationText(violation)}\n\n${violationLinks(violation, hasSimulator)}\n`)
  }
  all.push(explored)
  state({
    type: "product",
    name,
    sentence: sentenceOf(name),
    machines: product.kinds.map(({ machine }) => machine.id),
    states: explored.states,
    edges: explored.edges,
    depth: explored.depth,
    isAll: explored.end === "exhausted",
    invariants: [...product.states, ...product.edges, ...product.liveness].map(({ sentence }) => sentence)
  })
}
const sum = (of: (explored: Explored) => number) => all.reduce((total, explored) => total + of(explored), 0)
state({
  type: "row",
  what: `${all.length} products of the machines, explored`,
  amount: `${sum(({ states }) => states).toLocaleString("en-US")} states, ${sum(({ edges }) => edges).toLocaleString("en-US")} edges`,
  seed: null,
  violations: sum(({ violations }) => violations.length)
})
console.log(coverageText(all))
process.exitCode = all.every(({ violations }) => violations.length === 0) ? 0 : 1
