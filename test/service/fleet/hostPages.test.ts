/**
 * The operator's list of hosts in pages: a host that exists throughout is listed exactly once, though labels are equal
 * and hosts join and go meanwhile.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Hosts } from "../../../src/fleet/Hosts.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const join = (sql: SqlClient.SqlClient, id: string, label: string) => sql`
  insert into hosts (id, label, address_host, address_port, boot, version, driver, kind, vcpus, memory_bytes, disk_bytes, parallel_starts,
    suspends, network_filtered, joined_at, seen_at)
  values (${id}, ${label}, '127.0.0.1', 1, '', '1', 'namespace', 'namespace', 1, 1, 1, 1, false, true, 1, 1)`

const leave = (sql: SqlClient.SqlClient, id: string) => sql`
  insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
  values (${id}, 'host', '', '', 1, 1, '{}'::jsonb, '{"value": "gone", "context": {}}'::jsonb, 1)`

layer(Hosts.layer.pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })(
  "the pages of the list of hosts",
  (it) => {
    it.effect("have each host that exists throughout exactly once", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const hosts = yield* Hosts
        const count = 11
        for (let at = 0; at < count; at++) yield* join(sql, `host-${at}`, `rack ${at % 3}`)
        const walk = Effect.fnUntraced(function* (limit: number, between: Effect.Effect<unknown, unknown>) {
          const told: Array<string> = []
          for (let after: string | null = null, hasMore = true; hasMore; ) {
            const page: Effect.Success<ReturnType<typeof hosts.page>> = yield* hosts.page({
              limit,
              after,
              state: null,
              find: ""
            })
            assert.isAtMost(page.rows.length, limit)
            told.push(...page.rows.map(({ id }) => id))
            hasMore = page.hasMore
            after = told.at(-1) ?? null
            if (hasMore) yield* between
          }
          return told
        })
        let joined = 0
        for (let limit = 1; limit <= count + 1; limit++) {
          const before = yield* walk(1000, Effect.void)
          let disturbances = 0
          const told = yield* walk(
            limit,
            Effect.suspend(() => {
              if (disturbances++ >= 2) return Effect.void
              joined += 1
              // The last host of a page is removed, too.
              return Effect.andThen(join(sql, `new-${joined}`, `rack ${joined % 4}`), leave(sql, `new-${joined - 1}`))
            })
          )
          const after = new Set(yield* walk(1000, Effect.void))
          const throughout = before.filter((id) => after.has(id))
          assert.isAtLeast(throughout.length, count)
          assert.strictEqual(new Set(told).size, told.length, `by ${limit}: told twice`)
          assert.deepStrictEqual(
            told.filter((id) => throughout.includes(id)),
            throughout,
            `by ${limit}`
          )
        }
      })
    )
  }
)
