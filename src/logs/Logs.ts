/**
 * The log of a Sandbox: its stored output, read by time.
 *
 * An entry is one stored chunk of one stream, at most 64 KiB. Oldest first; with more than `limit` matches the newest of them. An
 * answer holds at most 16 MiB of text, so that 5,000 full entries do not meet in memory; what does not fit is `truncated` too.
 *
 * @source contract.md SandboxLogs, contract-details.md "SandboxLogs"
 */
import { Context, Effect, Layer } from "effect"
import { NotFound } from "../../schemas/Errors.ts"
import { Actors } from "../store/Actors.ts"
import { entryOf, type LogEntry } from "./LogChunks.ts"
import { type LogFollowing, type LogReading, logReadings } from "./LogReading.ts"
import { type LogQuery, newestChunks } from "./newestChunks.ts"

const answerBytesMax = 16 * 1024 * 1024

export class Logs extends Context.Service<
  Logs,
  {
    readonly read: (
      accountId: string,
      sandboxId: string,
      query: LogQuery
    ) => Effect.Effect<{ readonly entries: ReadonlyArray<LogEntry>; readonly truncated: boolean }, NotFound>
    readonly follow: (
      accountId: string,
      sandboxId: string,
      following: LogFollowing
    ) => Effect.Effect<LogReading, NotFound>
  }
>()("atoll/logs/Logs") {
  static readonly layer = Layer.effect(
    Logs,
    Effect.gen(function* () {
      const actors = yield* Actors
      const newest = yield* newestChunks
      const reading = yield* logReadings

      const find = Effect.fnUntraced(function* (accountId: string, sandboxId: string) {
        const sandbox = yield* actors.read(sandboxId)
        if (sandbox === null || sandbox.kind !== "sandbox" || sandbox.accountId !== accountId)
          return yield* new NotFound()
      })

      return Logs.of({
        read: Effect.fn("Logs.read")(function* (accountId, sandboxId, query) {
          yield* find(accountId, sandboxId)
          const { rows, truncated } = yield* newest(sandboxId, query, answerBytesMax)
          return { entries: rows.map(entryOf), truncated }
        }),
        follow: Effect.fn("Logs.follow")(function* (accountId, sandboxId, following) {
          yield* find(accountId, sandboxId)
          return reading(sandboxId, following)
        })
      })
    })
  )
}
