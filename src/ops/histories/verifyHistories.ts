/**
 * Folds the logs of all actors of a database through the machines of this version, and compares each with its stored snapshot.
 *
 * It reads one moment of the database, changes nothing, migrates nothing, and may run beside a service of an older version: that is what an operator
 * does before an upgrade. Memory stays flat: a page of actors, and a batch of their entries.
 *
 * It folds by the quick steps of flat machines, and every so many actors by XState's own steps, too: they must agree.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { FlatMachine } from "../../engine/history/FlatMachine.ts"
import { HistoryFold } from "../../engine/history/HistoryFold.ts"
import { type BeginFold, foldByXState } from "../../engine/history/MachineFold.ts"
import { textColumn } from "../../store/Columns.ts"
import { eachBatch } from "../../store/eachBatch.ts"
import { type HistoryKind, historyKinds } from "./kinds.ts"

/** Actors of a page: their folds are in memory together. */
const actorsAtOnce = 2000
const entriesAtOnce = 5000
const byXStateEvery = 64
export const differencesShown = 100

export interface HistoryDifference {
  readonly kind: string
  readonly actorId: string
  /** The version of the machine that stored it last. */
  readonly machineVersion: number
  /** A sentence without its full stop. */
  readonly difference: string
}

export interface HistoriesFound {
  readonly actors: number
  readonly transitions: number
  /** Transitions whose actor is gone. */
  readonly orphans: number
  /** At most `differencesShown`. */
  readonly differences: ReadonlyArray<HistoryDifference>
  readonly differencesCount: number
}

/** How far it is. */
export interface HistoriesProgress {
  readonly actors: number
  readonly transitions: number
  /** Of all kinds, by the database's estimate. */
  readonly transitionsAbout: number
}

/** No schema checks these rows: they may be millions. */
interface ActorRow {
  readonly id: string
  readonly kind: string
  readonly machine_version: number
  readonly revision: bigint
  readonly input: unknown
  readonly value: string
  readonly context: unknown
}

interface EntryRow {
  readonly actor_id: string
  readonly revision: number
  readonly event: never
  readonly from_state: string | null
  readonly to_state: string
  readonly commands: never
}

const actorsStatement = `
  select id, kind, machine_version, revision, input, snapshot ->> 'value' as value, snapshot -> 'context' as context
  from actors where id > $1 order by id limit ${actorsAtOnce}`

const entriesStatement = `
  select actor_id, revision::float8 as revision, event, from_state, to_state, commands
  from transitions where actor_id = any($1::text[]) order by actor_id, revision`

const orphansStatement = `
  select count(*)::int8 as orphans from transitions t where not exists (select from actors a where a.id = t.actor_id)`

const aboutStatement = `select greatest(reltuples, 0)::int8 as about from pg_class where oid = 'transitions'::regclass`

const flatMachines = new Map([...historyKinds].map(([name, { machine }]) => [name, FlatMachine.of(machine)]))

const foldQuickly: BeginFold = (machine, input) =>
  flatMachines.get(machine.id)?.begin(input) ?? foldByXState(machine, input)

class Folded {
  readonly row: ActorRow
  readonly #folds: ReadonlyArray<HistoryFold>
  difference: string | null = null

  /** @param steps Whose must agree with the log. */
  constructor(row: ActorRow, steps: ReadonlyArray<BeginFold>) {
    this.row = row
    const kind = historyKinds.get(row.kind)
    this.#folds = kind === undefined ? [] : this.#begin(kind, steps)
    if (kind === undefined) this.difference = `no machine is called ${row.kind}`
    else if (row.machine_version > Number(kind.machine.version)) {
      this.difference = `version ${row.machine_version} of the machine stored it, and ${kind.machine.version} is the newest that is known`
    }
  }

  #begin({ machine, presentCommand }: HistoryKind, steps: ReadonlyArray<BeginFold>): ReadonlyArray<HistoryFold> {
    const { input } = this.row
    return this.#guarded(() => steps.map((begin) => new HistoryFold(machine, input, presentCommand, begin))) ?? []
  }

  /** A machine that throws differs, too. */
  #guarded<A>(run: () => A): A | null {
    try {
      return run()
    } catch (cause) {
      this.difference = `the machine fails: ${cause instanceof Error ? cause.message : String(cause)}`
      return null
    }
  }

  /** Keeps the first difference that one of the folds finds. */
  #ask(find: (fold: HistoryFold) => string | null): void {
    for (const fold of this.#folds) {
      if (this.difference !== null) return
      const found = this.#guarded(() => find(fold))
      this.difference ??= found
    }
  }

  take({ revision, event, from_state: from, to_state: to, commands }: EntryRow): void {
    const entry = { revision, event, from, to, commands }
    this.#ask((fold) => fold.take(entry))
  }

  end(): void {
    const { value, context, revision, kind } = this.row
    this.#ask((fold) => fold.end(Number(revision), historyKinds.get(kind)!.present({ value, context })))
  }
}

const foldPage = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<ActorRow>,
  passed: (entries: number) => Effect.Effect<void>
) {
  const folds = new Map(
    rows.map((row, at) => [
      row.id,
      new Folded(row, at % byXStateEvery === 0 ? [foldQuickly, foldByXState] : [foldQuickly])
    ])
  )
  yield* eachBatch<EntryRow, never>(
    sql,
    "history_entries",
    entriesAtOnce,
    entriesStatement,
    [textColumn([...folds.keys()])],
    (entries) =>
      Effect.suspend(() => {
        for (const entry of entries) folds.get(entry.actor_id)!.take(entry)
        return passed(entries.length)
      })
  )
  const found = [...folds.values()]
  for (const fold of found) fold.end()
  return found.filter(({ difference }) => difference !== null)
})

type Told = (done: HistoriesProgress) => Effect.Effect<void>

const untold: Told = () => Effect.void

/** Compares within the caller's transaction. */
export const compareAll = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, progress: Told = untold) {
  const [about] = yield* sql.unsafe<{ readonly about: bigint }>(aboutStatement)
  const [orphans] = yield* sql.unsafe<{ readonly orphans: bigint }>(orphansStatement)
  const differences: Array<HistoryDifference> = []
  const done = { actors: 0, transitions: 0, transitionsAbout: Number(about?.about ?? 0) }
  let differencesCount = 0
  let last = ""
  while (true) {
    const rows = yield* sql.unsafe<ActorRow>(actorsStatement, [last])
    const found = yield* foldPage(sql, rows, (entries) => {
      done.transitions += entries
      return progress(done)
    })
    differencesCount += found.length
    for (const { row, difference } of found.slice(0, differencesShown - differences.length)) {
      const { kind, id: actorId, machine_version: machineVersion } = row
      differences.push({ kind, actorId, machineVersion, difference: difference! })
    }
    done.actors += rows.length
    if (rows.length < actorsAtOnce) break
    last = rows.at(-1)!.id
  }
  const { actors, transitions } = done
  return {
    actors,
    transitions,
    orphans: Number(orphans?.orphans ?? 0),
    differences,
    differencesCount
  } satisfies HistoriesFound
})

/**
 * @param sql Connections for statements that may take long.
 * @param progress Called after each batch.
 */
export const verifyHistories = (sql: SqlClient.SqlClient, progress: Told = untold) =>
  Effect.andThen(sql`set transaction isolation level repeatable read, read only`, compareAll(sql, progress)).pipe(
    sql.withTransaction
  )
