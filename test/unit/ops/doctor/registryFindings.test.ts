/** What `atoll doctor` finds about the logins for the registries of ATOLL_IMAGES. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Settings } from "../../../../src/Config.ts"
import { registryFindings } from "../../../../src/ops/doctor/registryFindings.ts"
import { testSettings } from "../../../support/TestSettings.ts"
import { testFolder } from "../../../support/testFolder.ts"

const findings = (environment: Readonly<Record<string, string>>) =>
  Effect.flatMap(Settings, (settings) => Effect.promise(() => registryFindings(settings))).pipe(
    Effect.map((found) => found.map(({ state, found }) => [state, found])),
    Effect.provide(testSettings(environment))
  )

it.live("atoll doctor says whether the logins for registries can be read, and whether an image needs one", () =>
  Effect.gen(function* () {
    const folder = yield* testFolder
    const path = join(folder, "auth.json")
    const set = { ATOLL_IMAGES_CREDENTIALS: path }
    const own = { ATOLL_IMAGES: "tools=registry.example/team/tools:1" }
    assert.deepStrictEqual(yield* findings({}), [])
    assert.deepStrictEqual(yield* findings({ ...set, ATOLL_ROLE: "host" }), [])
    assert.deepStrictEqual(yield* findings({ ...set, ...own }), [
      ["missing", `ATOLL_IMAGES_CREDENTIALS, ${path}, does not exist. Correct the path, or unset it.`]
    ])
    writeFileSync(path, JSON.stringify({ auths: {} }), { mode: 0o600 })
    const fine = (logins: number) => [["ok", `ATOLL_IMAGES_CREDENTIALS can be read. Logins: ${logins}.`]]
    assert.deepStrictEqual(yield* findings({ ...set, ...own }), fine(0))
    const auth = Buffer.from("robot:secret").toString("base64")
    writeFileSync(path, JSON.stringify({ auths: { "registry.example/team": { auth } } }))
    assert.deepStrictEqual(yield* findings({ ...set, ...own, ATOLL_ROLE: "service" }), fine(1))
    const [[state, found] = []] = yield* findings({ ...set, ATOLL_IMAGES: "tools=registry.example/teams/tools:1" })
    assert.strictEqual(state, "limited")
    assert.include(found, "No image of ATOLL_IMAGES is of a registry")
  })
)
