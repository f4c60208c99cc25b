/**
 * `npx node test/system/crash/sweep.ts`: the service ends at each effect of each scenario, once. `--strike lose`: it goes on, and the database's answer is
 * lost there. `--strike freeze`: it is frozen there, another one takes over, and it is woken after the last step.
 * `--runs N`: only so many, evenly over all; `--seconds S`: only so long; `--seed S`: in another order; `--only SCENARIO,…`; `--at EFFECT`: this one again.
 * `--since FILE`: only effects that FILE does not name yet; those that were met are written into it, so that several runs meet all. Begin another FILE when
 * the service has changed.
 * `--second K`: the next service ends, too, or the frozen one is woken, at K effects after that; `--second some`: in every second run, sooner or later.
 * Ctrl-C ends it after the present run, and it says what it had seen; a second one ends it now.
 */
import { resolve } from "node:path"
import { parseArgs } from "node:util"
import { runStoppable } from "../../support/stoppableTests.ts"

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "1000000" },
    seconds: { type: "string", default: "" },
    seed: { type: "string", default: "1" },
    strike: { type: "string", default: "crash" },
    only: { type: "string", default: "" },
    at: { type: "string", default: "" },
    second: { type: "string", default: "0" },
    since: { type: "string", default: "" }
  }
})

const asked = Object.entries({ ...values, since: values.since && resolve(values.since) }).map(
  ([name, value]) => [`ATOLL_SWEEP_${name.toUpperCase()}`, value] as const
)

process.exitCode = await runStoppable(
  ["test/system/crash/effects.test.ts", "--disable-console-intercept"],
  Object.fromEntries(asked),
  "ATOLL_SWEEP_STOP"
)
