/** Faults for a run of the service, which a sweep must find. */
import { Readable } from "node:stream"
import type { PgClient } from "@effect/sql-pg"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Runtime } from "../../../../src/runtime/Runtime.ts"
import { JournalDatabase } from "../../../../src/store/Database.ts"

export interface Plant {
  /** The service's connections, with the fault. */
  readonly database?: (found: Context.Context<never>) => Context.Context<never>
  /** The service's machines, with the fault. */
  readonly runtime?: (sound: Runtime["Service"]) => Runtime["Service"]
  /** Answered calls are kept in memory only. */
  readonly isWithoutSpool?: boolean
}

type Statement = (text: string, parameters: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<object>, never>

export const journal =
  (
    around: (statement: Statement, text: string, parameters: ReadonlyArray<unknown>) => unknown
  ): NonNullable<Plant["database"]> =>
  (found) => {
    const client = Context.get(found as Context.Context<JournalDatabase>, JournalDatabase)
    const planted = new Proxy(client, {
      get: (target, property, receiver) =>
        property === "unsafe"
          ? (text: string, parameters: ReadonlyArray<unknown>) =>
              around(target.unsafe.bind(target) as unknown as Statement, text, parameters)
          : Reflect.get(target, property, receiver)
    }) as PgClient.PgClient
    return Context.add(found, JournalDatabase, planted) as Context.Context<never>
  }

/** A lone transition by this event is said to be committed, and is a moment later. */
const repliesBeforeCommit = (event: string): Plant => ({
  database: journal((unsafe, text, parameters) => {
    const run = unsafe(text, parameters)
    const values = parameters.map((one) => String((one as { readonly value?: unknown }).value))
    const isMeant = /\bupdate actors\b/.test(text) && values.some((value) => value.startsWith(`{"type":"${event}"`))
    return isMeant ? Effect.as(Effect.forkDetach(Effect.delay(run, 10)), [{ id: values[0] }]) : run
  })
})

export const replyBeforeCommit = repliesBeforeCommit("CHANGED")
export const revokedBeforeCommit = repliesBeforeCommit("REVOKE")

/** A new service takes what is pending for done. */
export const nothingRepeated: Plant = {
  database: journal((unsafe, text, parameters) =>
    /^select id, kind,.* deadlines,/.test(text)
      ? Effect.map(unsafe(text, parameters), (rows) => rows.map((row) => ({ ...row, pending: [] })))
      : unsafe(text, parameters)
  )
}

/** A transaction commits each of its statements. */
export const noTransactions: Plant = {
  database: (found) => {
    const client = Context.get(found as Context.Context<SqlClient.SqlClient>, SqlClient.SqlClient)
    const planted = new Proxy(client, {
      get: (target, property, receiver) =>
        property === "withTransaction" ? (effect: unknown) => effect : Reflect.get(target, property, receiver)
    })
    return Context.add(found, SqlClient.SqlClient, planted) as Context.Context<never>
  }
}

export const noSpool: Plant = { isWithoutSpool: true }

/** A key that is revoked is refused immediately, and the database learns so a moment later. */
export const keyRevokedInMemory: Plant = {
  database: (found) => {
    const client = Context.get(found as Context.Context<SqlClient.SqlClient>, SqlClient.SqlClient)
    const planted = new Proxy(client, {
      get: (target, property, receiver) =>
        property === "unsafe"
          ? (text: string, parameters: ReadonlyArray<unknown>) => {
              const run = (target.unsafe.bind(target) as unknown as Statement)(text, parameters)
              const isMeant = /^update api_keys set revoked_by/.test(text)
              return isMeant ? Effect.as(Effect.forkDetach(Effect.delay(run, 10)), [{ id: parameters[0] }]) : run
            }
          : Reflect.get(target, property, receiver)
    })
    return Context.add(found, SqlClient.SqlClient, planted) as Context.Context<never>
  }
}

/** A file is said to be written, and the guest gets it a moment later. */
export const writtenBeforeGuest: Plant = {
  runtime: (sound) => ({
    ...sound,
    guest: (sandboxId, generation) =>
      Effect.map(sound.guest(sandboxId, generation), (guest) => ({
        ...guest,
        files: {
          ...guest.files,
          write: (path, { bytes, broken }) =>
            Effect.gen(function* () {
              const pieces: Array<Uint8Array> = []
              yield* Effect.promise(async () => {
                for await (const piece of bytes) pieces.push(piece)
              })
              const kept = { bytes: Readable.from([Buffer.concat(pieces)]), broken }
              yield* Effect.forkDetach(Effect.delay(guest.files.write(path, kept), 10))
            })
        }
      }))
  })
}
