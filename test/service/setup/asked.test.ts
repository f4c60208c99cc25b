/** Tests that are requested by name, on a machine that cannot run them: that is a failure. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { runAsked } from "../../support/askedTests.ts"
import { compiledOnce } from "../../support/compiledOnce.ts"
import { testFolder } from "../../support/testFolder.ts"

const root = join(import.meta.dirname, "../../..")
const scripts: Readonly<Record<string, string>> = (await import(join(root, "package.json"), { with: { type: "json" } }))
  .default.scripts

/** `npm run NAME -- ARGS`, with only an administrator's programs on the path. */
const ask = (name: string, ...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const folder = yield* testFolder
    const [script, ...words] = scripts[name]!.replace(/^exec node /, "").split(" ")
    return yield* Effect.promise(
      () =>
        new Promise<{ readonly code: number | null; readonly said: string }>((done) => {
          const child = execFile(
            process.execPath,
            [join(root, script!), ...words, ...args],
            { cwd: root, env: { PATH: folder, ...compiledOnce } },
            (_, stdout, stderr) => done({ code: child.exitCode, said: stdout + stderr })
          )
        })
    )
  }).pipe(Effect.scoped)

for (const [name, ...args] of [
  ["test:crash"],
  ["test:flood"],
  ["test:fleet"],
  ["test:fleet", "--faults", "1"]
] as const) {
  it.live(`npm run ${[name, ...args].join(" ")} names what is missing, and fails`, () =>
    Effect.gen(function* () {
      const { code, said } = yield* ask(name, ...args)
      assert.match(said, /^Sandboxes need these, .*: bubblewrap, .*\n(.*\n)*None of these tests was run: .*\n$/)
      assert.strictEqual(code, 1)
    })
  )
}

it.live("npm run test:container reports that there is no engine, and fails", () =>
  Effect.gen(function* () {
    const { code, said } = yield* ask("test:container")
    assert.match(said, /^There is no container engine here: apt-get install .*\n$/)
    assert.strictEqual(code, 1)
  })
)

it("tests that cannot run here are not run, and that is a failure", () => {
  const told = vi.spyOn(console, "error").mockImplementation(() => {})
  try {
    assert.strictEqual(runAsked(["test/service/setup/asked.test.ts"], {}, "There are no namespaces here."), 1)
    assert.deepStrictEqual(told.mock.calls, [["None of these tests was run: There are no namespaces here."]])
  } finally {
    told.mockRestore()
  }
})
