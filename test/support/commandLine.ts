/** The operator's command line, as a separate process on the test's database. */
import { execFile } from "node:child_process"
import { resolve } from "node:path"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { bundledOnce } from "./bundledOnce.ts"
import { TestDatabase } from "./TestDatabase.ts"

/** Each call starts a new Node, which takes a second on an idle machine. */
export const withinMs = 300_000

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs `atoll` with these words, and nothing else of this process's environment. */
export const atollWith = (environment: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) =>
  Effect.promise(
    () =>
      new Promise<Ended>((done) => {
        const child = execFile(
          process.execPath,
          [resolve("src/cli/main.ts"), ...args],
          { env: { PATH: process.env["PATH"], ...bundledOnce, ...environment } },
          (_, stdout, stderr) => done({ code: child.exitCode ?? -1, stdout, stderr })
        )
      })
  )

/** Runs `atoll` with these words on the test's database. */
export const atoll = (...args: ReadonlyArray<string>) =>
  // With a port, the address of this machine's own service has no part in it.
  Effect.flatMap(TestDatabase, ({ url }) => atollWith({ DATABASE_URL: url, ATOLL_PORT: "8080" }, ...args))

/** The document that `--json` printed. */
export const documentOf = (...args: ReadonlyArray<string>) =>
  Effect.map(atoll(...args), ({ code, stdout, stderr }) => {
    assert.deepStrictEqual([code, stderr], [0, ""], args.join(" "))
    return JSON.parse(stdout)
  })
