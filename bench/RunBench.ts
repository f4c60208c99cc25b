/** Runs one benchmark as a child process and collects its figures. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { BenchResult } from "./BenchRun.ts"
import { type Headline, headlinesIn, headlinesVariable } from "./Headline.ts"

/** @param folder Has `NAME.ts`. A benchmark that fails has no figures: what it stated before may be wrong. */
export const runBench = (folder: string, bench: string, commit: string): BenchResult => {
  const at = new Date().toISOString()
  const place = mkdtempSync(join(tmpdir(), "atoll-headlines-"))
  const file = join(place, "headlines")
  writeFileSync(file, "")
  const result = (failure: string | null, headlines: ReadonlyArray<Headline>) => ({
    bench,
    at,
    commit,
    failure,
    headlines
  })
  try {
    const { status, signal } = spawnSync(process.execPath, [join(folder, `${bench}.ts`)], {
      stdio: "inherit",
      env: { ...process.env, [headlinesVariable]: file }
    })
    if (status !== 0) return result(signal === null ? `ended with ${status}` : `ended by ${signal}`, [])
    return result(null, headlinesIn(readFileSync(file, "utf8")))
  } catch (cause) {
    return result(cause instanceof Error ? cause.message : String(cause), [])
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}
