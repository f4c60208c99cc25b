/**
 * Each changing command of the operator takes effect at a service of a fleet within seconds: while its connection for
 * notifications is whole, and each time after that was broken.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { PublicPort } from "../../../src/access/gateway/PublicPort.ts"
import { atoll, withinMs } from "../../support/commandLine.ts"
import { Browser } from "../../support/console/server/Browser.ts"
import { fresh } from "../../support/fleet/fresh.ts"
import { untilHost, WorldHost } from "../../support/fleet/SupervisedWorlds.ts"
import { type Ask, sendTo } from "../../support/http/TestApi.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { until } from "../../support/until.ts"
import { fleetApi } from "./FleetApi.ts"

/** Nothing else finds a missed notification for longer than that. */
const soon = "20 seconds"

const patient = { ATOLL_HOST_LEASE_MS: "600000", ATOLL_RECONCILE_INTERVAL_MS: "60000" }

const breakNotices = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'atoll-notices' and datname = current_database()`
)

const seen = <A, E, R>(look: Effect.Effect<A, E, R>, holds: (found: A) => boolean) =>
  until(look, holds).pipe(Effect.timeout(soon))

/** What happens to the connection for notifications before each command. */
const befalls = [
  ["whole", Effect.void],
  ["broken before each", breakNotices],
  ["broken twice before each", Effect.andThen(breakNotices, Effect.delay(breakNotices, 300))]
] as const

layer(TestDatabase.layer, { excludeTestServices: true })("the operator's commands, at a service of a fleet", (it) => {
  for (const [at, [name, befall]] of befalls.entries()) {
    it.effect(
      `take effect within seconds over a connection for notifications that is ${name}`,
      () =>
        Effect.gen(function* () {
          yield* fresh
          const sql = yield* SqlClient.SqlClient
          const run = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
            yield* befall
            const { code, stdout, stderr } = yield* atoll(...words, "--json")
            assert.strictEqual(code, 0, `${words.join(" ")}: ${stderr}`)
            return JSON.parse(stdout)
          })
          const hosts = yield* Effect.forEach([`host_a${at}`, `host_b${at}`], WorldHost.make)
          const [one, other] = hosts as [WorldHost, WorldHost]
          yield* Effect.gen(function* () {
            const port = (yield* PublicPort).current()
            for (const host of hosts) yield* Effect.forkScoped(host.live)
            for (const { id } of hosts) yield* untilHost(id, "ready")
            const account = `acme-${at}`
            const { account: made } = yield* run("accounts", "create", account, "--billing", "prepaid")
            const { secret, key } = yield* run("keys", "create", "--account", account, "--scopes", "all")
            const send = (method: string, path: string, ask: Ask = {}) =>
              Effect.promise(() => sendTo(port, secret)(method, `/api/v2${path}`, ask))
            /** The wallet has taken each outbox row. */
            const heard = seen(
              sql`select 1 from wallet_nudges where account_id = ${made.id}`,
              (rows) => rows.length === 0
            )
            const workspace = yield* send("POST", "/workspaces", {
              body: { name: "w" },
              headers: { "idempotency-key": "w" }
            })
            const create = (name: string) =>
              send("POST", "/sandboxes", {
                body: { workspaceId: workspace.json.workspace.id, name, networkEnabled: false },
                headers: { "idempotency-key": name }
              })
            const statusOf = (id: string) =>
              Effect.map(
                sql<{ readonly status: string }>`select status from actors where id = ${id}`,
                ([row]) => row?.status ?? ""
              )

            assert.strictEqual((yield* create("poor")).status, 402)
            yield* run("credit", "grant", "--account", account, "--usd", "10")
            const { status, json } = yield* create("rich")
            assert.strictEqual(status, 202, JSON.stringify(json))
            const { id } = json.sandbox
            yield* seen(statusOf(id), (found) => found === "running")
            yield* heard

            yield* run("accounts", "limits", account, "--sandboxes", "1")
            assert.strictEqual((yield* create("second")).status, 429)

            const rate = (what: string) => [`--${what}-second`, String(1000 + at)]
            yield* run("rates", "set", ...["vcpu", "memory-gib", "volume-gib"].flatMap(rate))
            yield* heard

            yield* run("accounts", "suspend", account)
            yield* seen(statusOf(id), (found) => found === "stopped")
            assert.strictEqual((yield* send("GET", "/me")).status, 403)
            yield* heard
            yield* run("accounts", "resume", account)
            yield* heard
            assert.isBelow((yield* send("POST", `/sandboxes/${id}/start`)).status, 300)
            yield* seen(statusOf(id), (found) => found === "running")

            const away = one.world.machines.has(id) ? one : other
            const soonHost = (state: string) => untilHost(away.id, state).pipe(Effect.timeout(soon))
            yield* run("hosts", "cordon", away.id)
            yield* soonHost("cordoned")
            yield* run("hosts", "uncordon", away.id)
            yield* soonHost("ready")
            yield* run("hosts", "drain", away.id)
            yield* soonHost("draining")
            yield* seen(statusOf(id), (found) => found === "stopped")
            yield* run("hosts", "remove", away.id, "--force")
            yield* soonHost("gone")

            const { link, invitation } = yield* run("invitations", "create")
            const code = new URL(link).hash.split("=")[1]!
            const offered = Effect.promise(() => new Browser(port).console("POST", "/invitation", { code }))
            assert.strictEqual((yield* offered).status, 200)
            yield* run("invitations", "revoke", invitation.id)
            assert.strictEqual((yield* offered).status, 404)

            yield* run("keys", "revoke", key.id)
            assert.strictEqual((yield* send("GET", "/me")).status, 401)

            // All notifications come over one connection.
            const open = sql`
              select 1 from pg_stat_activity where application_name = 'atoll-notices' and datname = current_database()`
            yield* seen(open, (rows) => rows.length === 1)
          }).pipe(Effect.scoped, Effect.provide(fleetApi(hosts, patient)))
        }),
      withinMs
    )
  }
})
