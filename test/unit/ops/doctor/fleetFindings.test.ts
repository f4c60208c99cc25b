/** What `atoll doctor` finds about a process of a fleet. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Settings } from "../../../../src/Config.ts"
import { fleetFindings } from "../../../../src/ops/doctor/fleetFindings.ts"
import { testSettings } from "../../../support/TestSettings.ts"
import { testFolder } from "../../../support/testFolder.ts"

const findings = (environment: Readonly<Record<string, string>>) =>
  Effect.map(Settings, (settings) =>
    fleetFindings(settings).map(({ name, state, found }) => [name, state, found])
  ).pipe(Effect.provide(testSettings(environment)))

it.live(
  "atoll doctor names what keeps a process of a fleet from the others, and nothing for a process that does all",
  () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const there = join(folder, "there")
      writeFileSync(there, "any")
      const away = join(folder, "away")
      const proves = (by: string) => `This process proves itself by ${by}.`
      const secret = { ATOLL_FLEET_SECRET_FILE: there }
      const certificates = {
        ATOLL_FLEET_CERT_FILE: there,
        ATOLL_FLEET_KEY_FILE: there,
        ATOLL_FLEET_CA_FILE: there,
        ATOLL_FLEET_REVOKED_FILE: there
      }
      const shown = "ATOLL_FLEET_CERT_FILE, ATOLL_FLEET_KEY_FILE, ATOLL_FLEET_CA_FILE"
      assert.deepStrictEqual(yield* findings({ ATOLL_ROLE: "all" }), [])
      assert.deepStrictEqual(yield* findings({ ATOLL_ROLE: "service" }), [
        ["fleet", "missing", "Nothing proves to the fleet's other processes who this is."]
      ])
      assert.deepStrictEqual(yield* findings({ ATOLL_ROLE: "service", ...secret }), [
        ["fleet", "ok", proves("ATOLL_FLEET_SECRET_FILE")]
      ])
      assert.deepStrictEqual(yield* findings({ ATOLL_ROLE: "service", ...certificates }), [
        ["fleet", "ok", proves(shown)]
      ])
      assert.deepStrictEqual(
        yield* findings({
          ATOLL_ROLE: "service",
          ...certificates,
          ATOLL_FLEET_KEY_FILE: away,
          ATOLL_FLEET_REVOKED_FILE: away
        }),
        [["fleet", "missing", "ATOLL_FLEET_KEY_FILE, ATOLL_FLEET_REVOKED_FILE cannot be read."]]
      )
      assert.deepStrictEqual(yield* findings({ ATOLL_ROLE: "host", ...secret, ATOLL_FLEET_JOIN: "one:7070" }), [
        ["fleet", "ok", proves("ATOLL_FLEET_SECRET_FILE")]
      ])
      assert.deepStrictEqual(yield* findings({ ATOLL_ROLE: "host", ...secret }), [
        ["fleet", "ok", proves("ATOLL_FLEET_SECRET_FILE")],
        ["services", "missing", "The addresses of this host's services are not set."]
      ])
    }).pipe(Effect.scoped)
)
