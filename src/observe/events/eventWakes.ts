/** Wakes the tails of accounts that have new events: for commits of this process immediately, for those of others by a notification. */
import { randomUUID } from "node:crypto"
import type { PgClient } from "@effect/sql-pg"
import { Clock, Effect } from "effect"
import { Settings } from "../../Config.ts"
import { DatabaseWatch } from "../../store/DatabaseWatch.ts"
import { Journal } from "../../store/Journal.ts"
import { Notices } from "../../store/Notices.ts"
import { Output } from "../../store/Output.ts"
import type { AccountTail } from "./AccountTail.ts"
import { eventPeers } from "./EventPeers.ts"

/** `peers`: the other processes, which need to know whether this one has streams; null: this process is alone. `end`: wakes no more. */
export const eventWakes = Effect.fnUntraced(function* (
  sql: PgClient.PgClient,
  tails: ReadonlyMap<string, AccountTail>,
  wake: (tail: AccountTail) => void
) {
  const journal = yield* Journal
  const output = yield* Output
  const watch = yield* DatabaseWatch
  const { clusterPort } = yield* Settings
  const clock = yield* Clock.Clock

  /** @param at The time of the commit, in epoch milliseconds. */
  const wakeFor = (accountId: string, at: number): void => {
    const tail = tails.get(accountId)
    if (tail === undefined) return
    tail.lag.committed(at)
    wake(tail)
  }

  const peers =
    clusterPort === 0
      ? null
      : yield* eventPeers(sql, yield* Notices, watch, randomUUID(), {
          transitions: (accountIds, at) => {
            if (accountIds === null) return tails.forEach((tail) => wake(tail))
            for (const id of accountIds) wakeFor(id, at)
          },
          output: output.storedElsewhere
        })
  const unheard = journal.onWritten((accountIds) => {
    peers?.transitions.written(accountIds)
    if (tails.size === 0) return
    const now = clock.currentTimeMillisUnsafe()
    for (const id of accountIds) wakeFor(id, now)
  })
  const unstored = peers === null ? () => {} : output.meetOthers(peers.output)
  return {
    peers,
    end: () => {
      unheard()
      unstored()
    }
  }
})
