/**
 * A migrated database behind a wire that a test may cut: at once, or right after the next change of it was committed, so that its answer is
 * lost. The service's own connections all go through the wire.
 */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Queue, Redacted } from "effect"
import { inject } from "vitest"
import { Database } from "../../src/store/Database.ts"
import { DatabaseServer } from "../../src/store/DatabaseServer.ts"
import { TestDatabase } from "./TestDatabase.ts"
import { testDatabaseUrl } from "./TestPostgres.ts"
import { testSettings } from "./TestSettings.ts"
import { testFolder } from "./testFolder.ts"

const socketName = ".s.PGSQL.5432"
/** Longer than the database takes to tell of a commit. */
const answersLateMs = 60

const marker = "armed"

/** Told by the commit itself, of what a client asked for. */
const telling = [
  `create function tell_change() returns trigger language plpgsql as
     $$ begin perform pg_notify('changes', tg_table_name); return null; end $$`,
  ...[
    "insert on transitions for each row when (new.cause = 'client')",
    "insert or update or delete on workspaces for each row",
    "update of revoked_at on api_keys for each row"
  ].map((change) => `create trigger told after ${change} execute function tell_change()`)
]

export class CutDatabase extends Context.Service<
  CutDatabase,
  {
    /** Nobody is let in until `mend`. */
    readonly cut: Effect.Effect<void>
    /** Makes ready; the effect that it answers with cuts once something was committed, before anybody hears of it. */
    readonly cutAfterCommit: Effect.Effect<Effect.Effect<void>>
    readonly mend: Effect.Effect<void>
  }
>()("atoll/test/CutDatabase") {
  static readonly layer = Layer.unwrap(
    Effect.gen(function* () {
      const { name, url } = yield* TestDatabase
      const folder = yield* testFolder
      const real = join(inject("testPostgresSocketFolder"), socketName)
      const sockets = new Set<Socket>()
      let isCut = false
      let lateMs = 0

      const wire = createServer((client) => {
        if (isCut) return void client.destroy()
        const server = connect(real)
        const both = [client, server]
        for (const socket of both) {
          sockets.add(socket)
          socket.on("error", () => {})
          socket.on("close", () => {
            sockets.delete(socket)
            for (const other of both) other.destroy()
          })
        }
        client.on("data", (bytes) => server.write(bytes))
        server.on("data", (bytes) => {
          if (lateMs === 0) client.write(bytes)
          else setTimeout(() => client.write(bytes), lateMs)
        })
      })
      wire.listen(join(folder, socketName))
      yield* Effect.promise(() => once(wire, "listening"))
      const cut = () => {
        isCut = true
        lateMs = 0
        for (const socket of sockets) socket.destroy()
      }
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          cut()
          wire.close()
        })
      )

      const direct = Context.get(
        yield* Layer.build(PgClient.layer({ url: Redacted.make(url), maxConnections: 2 })),
        PgClient.PgClient
      )
      for (const statement of telling) yield* direct.unsafe(statement)
      const changes = yield* direct.listen("changes")

      const tools = CutDatabase.of({
        cut: Effect.sync(cut),
        cutAfterCommit: Effect.gen(function* () {
          // They come in the order of their commits: what was before is not waited for.
          yield* direct.notify("changes", marker)
          yield* Effect.repeat(Queue.take(changes), { until: ({ payload }) => payload === marker })
          lateMs = answersLateMs
          return Effect.orDie(Effect.andThen(Queue.take(changes), Effect.sync(cut)))
        }).pipe(Effect.orDie),
        mend: Effect.sync(() => {
          isCut = false
        })
      })
      return Layer.succeed(CutDatabase, tools).pipe(
        Layer.provideMerge(Database.layerOn),
        Layer.provideMerge(DatabaseServer.at(Redacted.make(testDatabaseUrl(folder, name)))),
        Layer.provide(testSettings({ ATOLL_DATABASE_PATIENCE_MS: "1000" }))
      )
    })
  ).pipe(Layer.provideMerge(TestDatabase.bare))
}
