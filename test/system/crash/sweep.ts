/**
 * `npx node test/system/crash/sweep.ts`: the service ends at each effect of each scenario, once. `--strike lose`: it goes on, and the database's answer is
 * lost there.
 * `--runs N`: only so many, evenly over all; `--seconds S`: only so long; `--seed S`: in another order; `--only SCENARIO`; `--at EFFECT`: this one again.
 */
import { parseArgs } from "node:util"
import { runAsked } from "../../support/askedTests.ts"

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "1000000" },
    seconds: { type: "string" },
    seed: { type: "string", default: "1" },
    strike: { type: "string", default: "crash" },
    only: { type: "string" },
    at: { type: "string" }
  }
})

// The tests end by themselves, and say what they had seen.
process.on("SIGINT", () => {})
process.exitCode = runAsked(["test/system/crash/effects.test.ts", "--disable-console-intercept"], {
  ATOLL_SWEEP_RUNS: values.runs,
  ATOLL_SWEEP_SECONDS: values.seconds ?? "",
  ATOLL_SWEEP_SEED: values.seed,
  ATOLL_SWEEP_STRIKE: values.strike,
  ATOLL_SWEEP_ONLY: values.only ?? "",
  ATOLL_SWEEP_AT: values.at ?? ""
})
