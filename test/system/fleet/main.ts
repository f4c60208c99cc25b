/**
 * `npm run test:fleet -- --faults N --seed S`: N faults.
 * `npm run test:fleet`: every suite of the HTTP contract, over a fleet; `-- --only PATTERN`: of their files.
 */
import { parseArgs } from "node:util"
import { runAsked } from "../../support/askedTests.ts"
import { inProcessOnly, overAFleet } from "../../support/fleet/contract.ts"
import { simulatedFleet } from "./simulated/large.ts"

const quiet = "--disable-console-intercept"

const contract = (only: string, refusal: string | null): number => {
  const files = overAFleet.filter((file) => file.includes(only))
  if (files.length === 0) {
    // For an empty list vitest runs all.
    console.error(
      `No suite that runs over a fleet has ${only} in its name: test/support/fleet/contract.ts has them all.`
    )
    return 1
  }
  const left = Object.keys(inProcessOnly)
    .map((name) => name.replaceAll(/[.?()]/g, "\\$&"))
    .join("|")
  const args = [...files, quiet, "--maxWorkers", "2", "--testNamePattern", `^(?!.*(${left}))`]
  return runAsked(args, { ATOLL_TEST_FLEET: "1" }, refusal)
}

const ofProcesses = async (): Promise<number> => {
  const { values } = parseArgs({
    options: { faults: { type: "string" }, seed: { type: "string" }, only: { type: "string", default: "" } }
  })
  const { faults, seed = "" } = values
  // It tests whether a network can be made here.
  const { refusal } = await import("./refusal.ts")
  if (faults === undefined) return contract(values.only, refusal)
  const environment = { ATOLL_FLEET_FAULTS: faults, ATOLL_FLEET_SEED: seed }
  return runAsked(["test/system/fleet/faults.test.ts", quiet], environment, refusal)
}

const args = process.argv.slice(2)
process.exitCode = args.includes("--simulated") ? simulatedFleet(args) : await ofProcesses()
