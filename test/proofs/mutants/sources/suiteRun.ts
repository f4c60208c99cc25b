/** Runs some test files in a copy of the sources, in processes of their own, until the first test fails. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import type { SourceTree } from "./SourceTree.ts"

/** Of a run whose tests end by themselves. */
const endsWithinMs = 10_000

export type SuiteRun =
  | { readonly type: "passed"; readonly tests: number }
  /** `test`: its file and its title. */
  | { readonly type: "failed"; readonly test: string; readonly isTimeout: boolean }
  /** It had not ended within its time. */
  | { readonly type: "hung" }
  /** No test was run: the mistake is no program. */
  | { readonly type: "unloadable"; readonly message: string }

interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly message: string
    readonly assertionResults: ReadonlyArray<{
      readonly status: string
      readonly fullName: string
      readonly failureMessages: ReadonlyArray<string>
    }>
  }>
}

const read = (path: string): Report | null => {
  try {
    return JSON.parse(readFileSync(path, "utf8"))
  } catch {
    return null
  }
}

const verdictOf = (report: Report, code: number | null): SuiteRun => {
  const tests = report.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map((result) => ({ file: basename(name), ...result }))
  )
  const failed = tests.find(({ status }) => status === "failed")
  if (failed !== undefined) {
    return {
      type: "failed",
      test: `${failed.file}: ${failed.fullName.trim()}`,
      isTimeout: failed.failureMessages.some((message) => /timed out/i.test(message))
    }
  }
  const passed = tests.filter(({ status }) => status === "passed").length
  if (code === 0 && passed > 0) return { type: "passed", tests: passed }
  const message = report.testResults.map((result) => result.message).find((text) => text !== "")
  return { type: "unloadable", message: message ?? "no test was run" }
}

export const runSuites = async (
  tree: SourceTree,
  suites: ReadonlyArray<string>,
  withinMs: number
): Promise<SuiteRun> => {
  const report = join(tree.folder, "report.json")
  rmSync(report, { force: true })
  const vitest = join(tree.folder, "node_modules/vitest/vitest.mjs")
  const options = ["--bail=1", "--maxWorkers=1", "--reporter=json", `--outputFile=${report}`]
  const configuration = `--config=${tree.configurationFor(suites)}`
  const child = spawn(process.execPath, [vitest, "run", configuration, ...options, ...suites], {
    cwd: tree.folder,
    stdio: "ignore",
    detached: true,
    env: { ...process.env, NODE_COMPILE_CACHE: join(tree.folder, "node_modules/.cache/compiled") }
  })
  const ended = once(child, "exit")
  let isHung = false
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, name)
    } catch {
      // It has just ended.
    }
  }
  // Asked to end, it stops its database, too.
  const asking = setTimeout(() => {
    isHung = true
    signal("SIGINT")
  }, withinMs)
  const ending = setTimeout(() => signal("SIGKILL"), withinMs + endsWithinMs)
  const [code] = await ended
  clearTimeout(asking)
  clearTimeout(ending)
  const found = read(report)
  if (isHung) return { type: "hung" }
  return found === null ? { type: "unloadable", message: "no report was written" } : verdictOf(found, code)
}
