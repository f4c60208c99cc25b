/**
 * A migrated database behind a wire that a test may cut: immediately, or right after the commit of the next change, so
 * that its answer is lost. All of the service's own connections go through the wire.
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
const marker = "so far"

/** The commit itself reports a client's changes. */
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
    /** No connection is accepted until `mend`. */
    readonly cut: Effect.Effect<void>
    /** Prepares the cut; the returned effect cuts once a change was committed, before any client learns of it. */
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
      /**
       * Not null: it is called at the next change, and an answer waits until it is known whether it comes after one.
       */
      let onChange: (() => void) | null = null

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
          if (onChange === null) client.write(bytes)
          else afterCommits(() => client.write(bytes))
        })
      })
      wire.listen(join(folder, socketName))
      yield* Effect.promise(() => once(wire, "listening"))
      const cut = () => {
        isCut = true
        onChange = null
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
      const waiting: Array<() => void> = []
      yield* Effect.forkScoped(
        Effect.forever(
          Effect.map(Queue.take(changes), ({ payload }) => {
            if (payload === marker) waiting.shift()?.()
            else onChange?.()
          })
        )
      )
      /** Changes are reported in the order of their commits: once this one arrives, all before it have. */
      const afterCommits = (then: () => void) => {
        waiting.push(then)
        Effect.runFork(Effect.ignore(direct.notify("changes", marker)))
      }

      const tools = CutDatabase.of({
        cut: Effect.sync(cut),
        cutAfterCommit: Effect.callback<Effect.Effect<void>>((resume) =>
          afterCommits(() => {
            const { promise, resolve } = Promise.withResolvers<void>()
            onChange = () => {
              cut()
              resolve()
            }
            resume(Effect.succeed(Effect.promise(() => promise)))
          })
        ),
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
