/**
 * An actor whose machine has a newer version: it is migrated when it is loaded, once, and its log folds across the change. An older program refuses what
 * a newer one has stored, and changes nothing of it.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type AnyStateMachine, assign, setup } from "xstate"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import type { ActorDefinition } from "../../../src/engine/ActorDefinition.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { defineActor } from "../../../src/engine/defineActor.ts"
import { type HistoryEntry, HistoryFold } from "../../../src/engine/history/HistoryFold.ts"
import { Journal } from "../../../src/store/Journal.ts"
import type { StoredSnapshot } from "../../../src/store/JournalRecord.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { until } from "../../support/until.ts"

interface Worked {
  type: "WORKED"
  minutes: number
  at: number
}
interface Closed {
  type: "CLOSE"
  at: number
}

const states = {
  open: { on: { WORKED: { actions: "noteTime" }, CLOSE: "closed" } },
  closed: { entry: "bill" }
} as const

/** Counts minutes, and has its bill written by `bill`. */
const first = setup({
  types: { context: {} as { minutes: number }, events: {} as Worked | Closed },
  actions: {
    noteTime: assign({ minutes: ({ context, event }) => context.minutes + (event as Worked).minutes }),
    bill: () => {}
  }
}).createMachine({ id: "timesheet", version: "1", context: { minutes: 0 }, initial: "open", states })

/** Counts seconds: a migration that is made twice is seen. The command has another name. */
const second = setup({
  types: { context: {} as { seconds: number }, events: {} as Worked | Closed },
  actions: {
    noteTime: assign({ seconds: ({ context, event }) => context.seconds + 60 * (event as Worked).minutes }),
    sendBill: () => {}
  }
}).createMachine({
  id: "timesheet",
  version: "2",
  context: { seconds: 0 },
  initial: "open",
  states: { ...states, closed: { entry: "sendBill" } }
})

const presentCommand = (_: string, command: string) => (command === "bill" ? "sendBill" : command)

/** A command that runs until its process ends. */
const endless = { lane: null, run: () => Effect.never }
const ofVersion1 = defineActor(first, {
  context: Schema.Struct({ minutes: Schema.Number }) as never,
  commands: { bill: endless }
})
const ofVersion2 = (billed: Array<string>) =>
  defineActor(second, {
    context: Schema.Struct({ seconds: Schema.Number }) as never,
    migrate: (_, context, fromVersion) => {
      assert.strictEqual(fromVersion, 1)
      return { seconds: 60 * (context as unknown as { readonly minutes: number }).minutes }
    },
    presentCommand,
    commands: {
      sendBill: {
        lane: null,
        run: ({ key }) =>
          Effect.as(
            Effect.sync(() => billed.push(key)),
            null
          )
      }
    }
  })

const newSheet = (id: string) => ({
  ...{ id, accountId: "acc_1", sandboxId: "", payload: null, cause: "client", requestId: null, idempotency: null },
  input: { at: 1 } as never
})

/** One program's life on the database. */
const life = <A, E, R>(definition: ActorDefinition, use: (host: ActorHost["Service"]) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const host = yield* ActorHost
    yield* host.register(definition as never)
    return yield* use(host)
  }).pipe(
    Effect.provide(
      ActorHost.layer({ sweepIntervalMs: 50 }).pipe(
        Layer.provideMerge(Layer.fresh(Journal.layer)),
        Layer.provide(ActorCluster.layerSingle)
      )
    )
  )

const client = { cause: "client" }
const work = (host: ActorHost["Service"], machine: AnyStateMachine, id: string, minutes: number) =>
  host.send(machine, id, { type: "WORKED", minutes } as never, client)

interface Row extends StoredSnapshot {
  readonly version: number
  readonly revision: number
  readonly pending: ReadonlyArray<{ readonly type: string }>
}

const stateOf = ({ value, context }: Row): StoredSnapshot => ({ value, context })

const read = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<Row>`
    select machine_version as version, revision::int4 as revision, pending, snapshot ->> 'value' as value, snapshot -> 'context' as context
    from actors where id = ${id}`
  const log = yield* sql<HistoryEntry>`
    select revision::int4 as revision, event, from_state as "from", to_state as "to", commands
    from transitions where actor_id = ${id} order by transitions.revision`
  return { row: row!, log }
})

layer(TestDatabase.layer, { excludeTestServices: true })("a machine of a newer version", (it) => {
  it.effect("migrates an actor once, when it is loaded; it goes on, and its log folds across the change", () =>
    Effect.gen(function* () {
      const id = "sheet_goesOn"
      yield* life(ofVersion1, (host) =>
        Effect.gen(function* () {
          yield* host.create(first, newSheet(id))
          yield* work(host, first, id, 5)
        })
      )
      assert.deepInclude((yield* read(id)).row, { version: 1, context: { minutes: 5 } })
      // Each life loads it again.
      for (const [index, seconds] of [420, 540, 660].entries()) {
        const state = yield* life(ofVersion2([]), (host) => work(host, second, id, 2))
        assert.deepStrictEqual([state.revision, state.context], [index + 3, { seconds }])
        assert.deepInclude((yield* read(id)).row, { version: 2, revision: index + 3, context: { seconds } })
      }
      const { row, log } = yield* read(id)
      const fold = new HistoryFold(second, { at: 1 }, presentCommand)
      for (const entry of log) assert.isNull(fold.take(entry))
      assert.isNull(fold.end(row.revision, stateOf(row)))
      assert.lengthOf(log, 5)
    })
  )

  it.effect("does a command that an older version stored under its former name, and its log folds", () =>
    Effect.gen(function* () {
      const id = "sheet_bill"
      yield* life(ofVersion1, (host) =>
        Effect.gen(function* () {
          yield* host.create(first, newSheet(id))
          yield* host.send(first, id, { type: "CLOSE" } as never, client)
        })
      )
      assert.strictEqual((yield* read(id)).row.pending[0]?.type, "bill")
      const billed: Array<string> = []
      yield* life(ofVersion2(billed), (host) =>
        Effect.andThen(
          host.recover,
          until(read(id), ({ row }) => row.pending.length === 0)
        )
      )
      const { row, log } = yield* read(id)
      assert.deepStrictEqual([billed, row.version, row.context], [["2.0"], 2, { seconds: 0 }])
      const fold = new HistoryFold(second, { at: 1 }, presentCommand)
      for (const entry of log) assert.isNull(fold.take(entry))
      assert.isNull(fold.end(row.revision, stateOf(row)))
      // Without the former name the log is another one.
      const unnamed = new HistoryFold(second, { at: 1 })
      assert.isNull(unnamed.take(log[0]!))
      assert.include(unnamed.take(log[1]!), "asked for other commands")
    })
  )

  it.effect("leaves actors that an older program refuses with a sentence, and that have lost nothing", () =>
    Effect.gen(function* () {
      const id = "sheet_newer"
      yield* life(ofVersion1, (host) => host.create(first, newSheet(id)))
      yield* life(ofVersion2([]), (host) => work(host, second, id, 1))
      const before = yield* read(id)
      const defect = yield* life(ofVersion1, (host) =>
        work(host, first, id, 1).pipe(
          Effect.as(null),
          Effect.catchDefect((found) => Effect.succeed(found)),
          Effect.timeout("10 seconds")
        )
      )
      assert.match(String(defect), /StateUnusable.* its machine's version is 2, and 1 is the newest that is known/)
      assert.deepStrictEqual(yield* read(id), before)
      const state = yield* life(ofVersion2([]), (host) => work(host, second, id, 1))
      assert.deepStrictEqual([state.revision, state.context], [3, { seconds: 120 }])
    })
  )
})
