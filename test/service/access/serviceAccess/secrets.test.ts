/** Secrets that a caller was given must not be readable in the database or in a backup of it. */
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Previews } from "../../../../src/access/preview/Previews.ts"
import { ServiceAccesses } from "../../../../src/access/serviceAccess/ServiceAccesses.ts"
import { ApiKeys } from "../../../../src/account/ApiKeys.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../../src/operation/Operations.ts"
import { listenInside, requestIdentity, runningSandboxOf } from "../../../support/GatewayServer.ts"
import { testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

/** Every row of every table, as text. */
const everything = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    select table_name::text as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`
  const rows = yield* Effect.forEach(tables, ({ name }) =>
    sql.unsafe<{ readonly row: string }>(`select to_jsonb(t)::text as row from "${name}" t`)
  )
  return rows.flat().map(({ row }) => row)
})

layer(TestDatabase.layer, { excludeTestServices: true })("the database", (it) => {
  it.effect(
    "holds no API key, no capability, no preview name, and no environment or input of a command that has ended",
    () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        yield* Effect.gen(function* () {
          const { accountId, sandboxId } = yield* runningSandboxOf()
          listenInside(world, sandboxId, 3000, createServer())
          const { secret } = yield* (yield* ApiKeys).create({ accountId, name: "k", scopes: ["sandbox:read"] })
          const preview = yield* (yield* Previews).create(accountId, sandboxId, { ...requestIdentity, port: 3000 })
          const access = yield* (yield* ServiceAccesses).create(accountId, sandboxId, {
            ...requestIdentity,
            generationId: randomUUID(),
            request: { requested_at: Date.now(), ports: [3000] }
          })
          const operations = yield* Operations
          const variable = `env-${randomUUID()}`
          const input = `stdin-${randomUUID()}`
          const { id } = yield* operations.start(accountId, sandboxId, {
            ...requestIdentity,
            idempotencyKey: "once",
            fingerprint: "f",
            request: {
              argv: ["cat"],
              cwd: "/workspace",
              env: { V: variable },
              stdin: input,
              encoding: "utf8",
              timeoutSeconds: null
            }
          })
          const isTold = (row: string) => row.includes(variable) || row.includes(Buffer.from(input).toString("base64"))
          yield* Effect.repeat(everything, {
            until: (rows) => rows.some((row) => row.includes(id)) && !rows.some(isTold),
            schedule: Schedule.spaced(10)
          }).pipe(Effect.timeout("20 seconds"))
          const [, , , sealed, tag] = access.capability.split(".") as [string, string, string, string, string]
          const rows = yield* everything
          assert.isAbove(rows.length, 10)
          for (const row of rows) for (const kept of [secret, preview.id, sealed, tag]) assert.notInclude(row, kept)
        }).pipe(
          Effect.scoped,
          Effect.provide(ApiKeys.layer.pipe(Layer.provideMerge(testAtoll(world, { ATOLL_SERVICE_ACCESS: "on" }))))
        )
      })
  )
})
