/**
 * The transition logs of a whole database, folded through the machines again.
 *
 * @source design.md "replaying it through the machine gives the snapshot"
 */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { AnyStateMachine } from "xstate"
import type { AnyEvent } from "../../src/engine/ActorDefinition.ts"
import { begin, decide, store } from "../../src/engine/Transition.ts"
import type { Deadlines, PendingCommand, StoredSnapshot } from "../../src/store/JournalRecord.ts"
import { columnFaults } from "./derivedColumns.ts"

const folder = join(import.meta.dirname, "../../machines")

/** By the machine's id, which is the actor's kind. */
const machines = new Map<string, AnyStateMachine>()
for (const file of readdirSync(folder)) {
  const exported: Record<string, unknown> = await import(join(folder, file))
  for (const [name, value] of Object.entries(exported)) {
    if (name.endsWith("Machine")) machines.set((value as AnyStateMachine).id, value as AnyStateMachine)
  }
}

interface Actor {
  readonly id: string
  readonly kind: string
  readonly revision: bigint
  readonly input: unknown
  readonly snapshot: StoredSnapshot
}

interface Logged {
  readonly actor_id: string
  readonly revision: bigint
  readonly event: AnyEvent
  readonly from_state: string | null
  readonly to_state: string
  readonly commands: ReadonlyArray<PendingCommand>
}

/** jsonb sorts keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner
  )

const faultOf = (actor: Actor, log: ReadonlyArray<Logged>): string | null => {
  const machine = machines.get(actor.kind)
  if (machine === undefined) return `no machine is called ${actor.kind}`
  if (log.length !== Number(actor.revision)) return `revision ${actor.revision}, but ${log.length} entries`
  const first = begin(machine, actor.input)
  let { snapshot } = first
  let deadlines: Deadlines = first.deadlines
  let commands: ReadonlyArray<PendingCommand> = first.commands
  for (const [index, entry] of log.entries()) {
    const revision = index + 1
    if (Number(entry.revision) !== revision) return `entry ${revision} has the revision ${entry.revision}`
    if (revision > 1) {
      if (entry.from_state !== snapshot.value)
        return `entry ${revision} comes from ${entry.from_state}, not ${snapshot.value}`
      const verdict = decide(machine, snapshot, entry.event, revision, deadlines)
      if (verdict.type !== "accepted")
        return `entry ${revision}, ${entry.event.type}, is ${verdict.type} in ${snapshot.value}`
      ;({ snapshot, deadlines, commands } = verdict)
    }
    if (entry.to_state !== snapshot.value) return `entry ${revision} leads to ${entry.to_state}, not ${snapshot.value}`
    if (canonical(entry.commands) !== canonical(commands)) return `entry ${revision} has other commands`
  }
  return canonical(store(snapshot)) === canonical(actor.snapshot)
    ? null
    : `replayed ${canonical(store(snapshot))}, stored ${canonical(actor.snapshot)}`
}

const faultsOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const actors = yield* sql<Actor>`select id, kind, revision, input, snapshot from actors order by id`
  const logged = yield* sql<Logged>`
    select actor_id, revision, event, from_state, to_state, commands from transitions order by actor_id, revision`
  const logs = Map.groupBy(logged, ({ actor_id }) => actor_id)
  const orphans = [...logs.keys()].filter((id) => !actors.some((actor) => actor.id === id))
  return [
    ...(yield* columnFaults),
    ...orphans.map((id) => `${id}: a log without an actor`),
    ...actors.flatMap((actor) => {
      const fault = faultOf(actor, logs.get(actor.id) ?? [])
      return fault === null ? [] : [`${actor.kind} ${actor.id}: ${fault}`]
    })
  ]
})

/**
 * The faults of any log of the database: gaps, impossible transitions, a fold that differs from the stored snapshot,
 * columns that differ from it.
 */
export const logFaults = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  // An actor may take a step between two statements: all of them see one moment.
  sql.withTransaction(Effect.andThen(sql`set transaction isolation level repeatable read`, faultsOf(sql)))
)
