/**
 * The property tests of one folder, run by hand: more of them, or one of them again. The program leaves its options in
 * the environment, and the tests read them there.
 * Prints the first failure, then the smallest failing steps that were found, with the command that repeats them.
 */
import { parseArgs } from "node:util"
import { runAsked } from "./askedTests.ts"

/**
 * Of this program's `--runs`, `--seed`, `--path` and `--only` (a pattern of the tests' names). Its exit code is the
 * tests'.
 * @param prefix Of the environment's names: `_RUNS`, `_SEED` and `_PATH` follow.
 */
export const runSeeded = (folder: string, prefix: string): void => {
  const { values } = parseArgs({
    options: {
      runs: { type: "string" },
      seed: { type: "string" },
      path: { type: "string" },
      only: { type: "string" }
    }
  })
  const only = values.only === undefined ? [] : ["--testNamePattern", values.only]
  process.exitCode = runAsked([folder, ...only], {
    [`${prefix}_RUNS`]: values.runs ?? "",
    [`${prefix}_SEED`]: values.seed ?? "",
    [`${prefix}_PATH`]: values.path ?? ""
  })
}

/** The options, in the tests' process: `replay` is for `fc.check`. */
export const askedRuns = (prefix: string) => {
  const asked = (name: string) => {
    const value = process.env[`${prefix}_${name}`]
    return value === undefined || value === "" ? undefined : value
  }
  const [runs, seed, path] = [asked("RUNS"), asked("SEED"), asked("PATH")]
  return {
    runs: runs === undefined ? undefined : Number(runs),
    replay: { ...(seed === undefined ? {} : { seed: Number(seed) }), ...(path === undefined ? {} : { path }) }
  }
}
