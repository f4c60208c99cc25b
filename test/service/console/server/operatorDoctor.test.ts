/** The checks of the machine in the operator's page: those of the command line. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Examined, Finding } from "../../../../schemas/console/Doctor.ts"
import { atoll, withinMs } from "../../../support/commandLine.ts"
import { backupFolderApi } from "../../../support/console/server/backupFolderApi.ts"
import { operatorBrowser } from "../../../support/console/server/operatorBrowser.ts"

/** The test's service has another port than the command line, and each process another clock. */
const common = (findings: ReadonlyArray<Finding>) =>
  findings.filter(({ name }) => !name.startsWith("port ")).map(({ name, state, mend }) => [name, state, mend])

layer(backupFolderApi(), { excludeTestServices: true })("the checks of the operator's page", (it) => {
  it.effect(
    "say what this machine enforces, as the command line does, to two concurrent requests, too",
    () =>
      Effect.gen(function* () {
        const { ask } = yield* operatorBrowser
        const [one, other] = yield* Effect.all(
          [1, 2].map(() => ask("POST", "/doctor")),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(one!.status, 200, one!.text)
        const { works, findings, verdict } = one!.json as Examined
        assert.deepInclude(findings, { name: "database", state: "ok", found: "The database answers.", mend: null })
        assert.deepStrictEqual(common(other!.json.findings), common(findings))
        const printed = yield* atoll("doctor", "--json")
        assert.deepStrictEqual(common(JSON.parse(printed.stdout).findings), common(findings))
        assert.strictEqual(printed.code === 0, works)
        const prose = yield* atoll("doctor")
        assert.include(prose.stdout, verdict)
      }),
    withinMs
  )

  it.effect("say that they did not run, and why", () =>
    Effect.gen(function* () {
      const { refused } = yield* operatorBrowser
      const wrong = Effect.acquireRelease(
        Effect.sync(() => Object.assign(process.env, { ATOLL_BOOT_TIMEOUT_MS: "soon" })),
        () => Effect.sync(() => delete process.env["ATOLL_BOOT_TIMEOUT_MS"])
      )
      const why = "ATOLL_BOOT_TIMEOUT_MS must be a whole number from 0 to 9007199254740991 (default: 60000)."
      yield* Effect.scoped(Effect.andThen(wrong, refused("/doctor", undefined, `The checks did not run: ${why}`)))
    })
  )
})
