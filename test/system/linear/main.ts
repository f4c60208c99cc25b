/**
 * `npm run test:linear -- [--seconds S] [--seed N] [--services N] [--hosts N] [--clients N] [--sandboxes N] [--more CALLS] [--save FOLDER]`: clients of a real service,
 * of several on one database, or of a fleet, of which all parts are killed, frozen and cut off, and whether the contract explains all that they saw.
 * `--more snap,childRead`: these calls more often than all others together. Ctrl-C ends it early, with the verdict about what was seen.
 */
import { parseArgs } from "node:util"
import { state } from "../../../src/proofs/Proved.ts"
import type { DoesType } from "../../proofs/linear/calls.ts"
import { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { networkUnusable, unusable } from "../../support/host/namespace/TestHost.ts"
import { RecordedRun, type RunPlan, summaryText } from "./recordedRun.ts"
import { sharedDatabase } from "./sharedDatabase.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    clients: { type: "string", default: "8" },
    sandboxes: { type: "string", default: "3" },
    calls: { type: "string", default: "120" },
    services: { type: "string", default: "1" },
    hosts: { type: "string" },
    "fault-every": { type: "string", default: "2500" },
    save: { type: "string" },
    more: { type: "string" }
  }
})
const { save, more: moreOften, ...counted } = values
const numbers = Object.fromEntries(Object.entries(counted).map(([name, value]) => [name, Number(value)]))
for (const [name, value] of Object.entries(numbers)) {
  if (value > 0) continue
  console.error(`--${name} is a number above 0, not ${values[name as keyof typeof values]}.`)
  process.exit(2)
}
if (unusable !== null) {
  console.error(unusable)
  process.exit(1)
}

const stop = new AbortController()
process.once("SIGINT", () => stop.abort())

const services = numbers["services"]!
const ofWhat =
  values.hosts !== undefined
    ? "a fleet that fails"
    : services === 1
      ? "a service that fails"
      : "services that fail, on one database"

const recorded = async (members: ReadonlyArray<ServiceProcess>, more: Partial<RunPlan>): Promise<void> => {
  const run = await RecordedRun.of(members, {
    seed: numbers["seed"]!,
    seconds: numbers["seconds"]!,
    clients: numbers["clients"]!,
    sandboxes: numbers["sandboxes"]!,
    callsEach: numbers["calls"]!,
    hasNetwork: networkUnusable === null,
    faultEveryMs: numbers["fault-every"]!,
    ...(save === undefined ? {} : { saveTo: save }),
    ...(moreOften === undefined ? {} : { more: moreOften.split(",") as ReadonlyArray<DoesType> }),
    ...more,
    signal: stop.signal,
    progress: (present) => console.log(`  ${summaryText(present)}, of ${values.seconds} s`)
  })
  for (const refusal of run.refusals) console.log(`\n${refusal}\n`)
  console.log(summaryText(run))
  const outages = Object.entries(run.faults).map(([name, count]) => `${count} ${name}`)
  state({
    type: "row",
    what: `clients over HTTP of ${ofWhat}, held to the contract`,
    amount: [`${run.clients.calls} calls`, ...outages].join(", "),
    seed: values.seed!,
    violations: run.refusals.length + run.undecided
  })
  process.exitCode = run.refusals.length + run.undecided === 0 ? 0 : 1
  await members[0]!.deleteSandboxes()
}

const ofFleet = async (hosts: number): Promise<void> => {
  // It tests whether a network can be made here.
  const { refusal } = await import("../fleet/refusal.ts")
  if (refusal !== null) {
    process.exitCode = 1
    return
  }
  const { ownFleet } = await import("./ownFleet.ts")
  await ownFleet({ services: Math.max(2, services), hosts }, (fleet) =>
    recorded(fleet.services, { hosts: fleet.hosts })
  )
}

const ofServices = async (): Promise<void> => {
  const database = services === 1 ? null : await sharedDatabase()
  const members =
    database === null
      ? [await ServiceProcess.make()]
      : await ServiceProcess.cluster(services, { DATABASE_URL: database.url })
  try {
    for (const member of members) await member.start()
    await recorded(members, database === null ? {} : { databaseFolder: database.folder })
  } finally {
    for (const member of members) await member.kill()
    members[0]!.killPostgres()
    members[0]!.remove()
    await database?.end()
  }
}

console.log(`seed ${values.seed}`)
await (values.hosts === undefined ? ofServices() : ofFleet(numbers["hosts"]!))
