/**
 * Counts failed boots by host: several in a row, of different Sandboxes, are the host's fault. The count is in the host's row, so that all services
 * share it; a successful boot writes nothing unless one has failed before.
 */
import { Context, Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"

/** Failed Sandboxes in a row. */
export const bootsFailMax = 3

export type BootVerdict =
  | { readonly type: "fail"; readonly hostId: string; readonly message: string }
  | { readonly type: "work"; readonly hostId: string }

export class HostBoots extends Context.Service<
  HostBoots,
  {
    readonly worked: (hostId: string) => Effect.Effect<void>
    /** @param message The driver's reason. */
    readonly failed: (hostId: string, sandboxId: string, message: string) => Effect.Effect<void>
    /** Each series of failures whose last one was seen here, and the first successful boot after one. */
    readonly verdicts: Queue.Dequeue<BootVerdict>
  }
>()("atoll/fleet/HostBoots") {
  static readonly layer = Layer.effect(
    HostBoots,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const verdicts = yield* Queue.unbounded<BootVerdict>()

      const uncounted = (hostId: string) =>
        Effect.catchCause((cause) => Effect.logWarning(`Could not count a boot of host ${hostId}`, cause))

      return HostBoots.of({
        worked: (hostId) =>
          sql<{ readonly wasDoubtful: boolean }>`
            with before as (
              select id, is_doubtful from hosts where id = ${hostId} and (is_doubtful or boots_failed <> '{}') for no key update)
            update hosts h set boots_failed = '{}', is_doubtful = false from before b where h.id = b.id
            returning b.is_doubtful as "wasDoubtful"`.pipe(
            Effect.map(([row]) => {
              if (row?.wasDoubtful === true) Queue.offerUnsafe(verdicts, { type: "work", hostId })
            }),
            uncounted(hostId)
          ),
        failed: (hostId, sandboxId, message) =>
          sql<{ readonly isFull: boolean }>`
            with before as (
              select id, case when boots_failed @> array[${sandboxId}]::text[] then boots_failed else boots_failed || ${sandboxId}::text end as failed
              from hosts where id = ${hostId} for no key update)
            update hosts h set is_doubtful = h.is_doubtful or cardinality(b.failed) >= ${bootsFailMax}::int4,
              boots_failed = case when cardinality(b.failed) >= ${bootsFailMax}::int4 then '{}' else b.failed end
            from before b where h.id = b.id
            returning cardinality(b.failed) >= ${bootsFailMax}::int4 as "isFull"`.pipe(
            Effect.map(([row]) => {
              if (row?.isFull === true) Queue.offerUnsafe(verdicts, { type: "fail", hostId, message })
            }),
            uncounted(hostId)
          ),
        verdicts
      })
    })
  )
}
