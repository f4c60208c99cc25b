/** A customer at a shell: `atoll` as processes of its own, with a folder and an environment of its own, against the served service. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { compiledOnce } from "../../../support/compiledOnce.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"

/** `atoll`, the customer's. */
export const main = join(import.meta.dirname, "../../../../clients/typescript/src/cli/main.ts")

export interface Ended {
  /** Null: a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly child: ChildProcessWithoutNullStreams
  readonly ended: Promise<Ended>
  /** Resolves when it has written this to either stream. */
  readonly hasSaid: (text: string | RegExp) => Promise<string>
  /** What it has written so far. */
  readonly stdout: () => string
}

export type Environment = Readonly<Record<string, string>>

/** @param input What is on its stdin; null: a pipe that stays open. */
export const startProcess = (
  program: string,
  words: ReadonlyArray<string>,
  env: Environment,
  input: string | Uint8Array | null
): Started => {
  const child = spawn(program, words, { env })
  const said = { stdout: "", stderr: "" }
  let heard = () => {}
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text
      heard()
    })
  }
  child.stdin.on("error", () => {})
  if (input !== null) child.stdin.end(input)
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", (code) => {
      resolve({ code, ...said })
      heard()
    })
  })
  const hasSaid = (text: string | RegExp) =>
    new Promise<string>((resolve, reject) => {
      heard = () => {
        const all = said.stdout + said.stderr
        if (typeof text === "string" ? all.includes(text) : text.test(all)) resolve(all)
        else if (child.exitCode !== null)
          reject(new Error(`It ended with ${child.exitCode} before it said ${text}: ${all}`))
      }
      heard()
    })
  return { child, ended, hasSaid, stdout: () => said.stdout }
}

interface Asked {
  readonly input?: string | Uint8Array | null
  readonly env?: Environment
}

/** @param folder Becomes its home. A script `atoll` is put there, for shells. */
export const customerAt = (folder: string, { url, key }: { readonly url: string; readonly key: string }) => {
  const script = join(folder, "atoll")
  writeFileSync(script, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`)
  chmodSync(script, 0o755)
  const bare = {
    PATH: [folder, dirname(process.execPath), process.env["PATH"]].join(delimiter),
    HOME: folder,
    LANG: "C.UTF-8",
    ...compiledOnce
  }
  const environment: Environment = { ...bare, ATOLL_URL: url, ATOLL_API_KEY: key }
  const start = (words: ReadonlyArray<string>, { input = "", env = environment }: Asked = {}) =>
    startProcess(process.execPath, [main, ...words], env, input)
  const atoll = (words: ReadonlyArray<string>, asked: Asked = {}) => start(words, asked).ended
  return {
    folder,
    url,
    key,
    /** Without a key. */
    bare: bare as Environment,
    environment,
    start,
    atoll,
    /** A line of bash, with `atoll` on its path. */
    bash: (line: string, input = "") => startProcess("bash", ["-c", line], environment, input).ended,
    /** What it answers where nothing goes wrong. */
    answer: async (...words: ReadonlyArray<string>): Promise<string> => {
      const { code, stdout, stderr } = await atoll(words)
      assert.deepStrictEqual([code, stderr], [0, ""], words.join(" "))
      return stdout
    },
    /** What `--json` says. */
    // biome-ignore lint/suspicious/noExplicitAny: as JSON.parse has it
    json: async (...words: ReadonlyArray<string>): Promise<any> => {
      const { code, stdout, stderr } = await atoll(["--json", ...words])
      assert.deepStrictEqual([code, stderr], [0, ""], words.join(" "))
      return JSON.parse(stdout)
    }
  }
}

export class Customer extends Context.Service<
  Customer,
  ReturnType<typeof customerAt> & {
    /** A Sandbox that runs, and has the name `dev`. */
    readonly sandboxId: string
  }
>()("atoll/test/Customer") {
  static readonly layer = Layer.effect(
    Customer,
    Effect.gen(function* () {
      const { port, key } = yield* ServedAtoll
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "atoll-customer-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 20 }))
      )
      const customer = customerAt(folder, { url: `http://127.0.0.1:${port}`, key })
      const created = yield* Effect.promise(() => customer.answer("sandbox", "create", "--name", "dev"))
      return Customer.of({ ...customer, sandboxId: created.trim() })
    })
  )
}

/** A test in a customer's words. */
export const asCustomer = (test: (customer: Customer["Service"]) => Promise<void>) =>
  Effect.flatMap(Customer, (customer) => Effect.promise(() => test(customer)))
