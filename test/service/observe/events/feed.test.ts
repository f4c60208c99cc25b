/**
 * Each committed transition reaches each stream once, and those of an actor in order: under writers on several
 * connections and in separate transactions, through connections that are cut, processes that end, and clients that read
 * slowly or come and go.
 */
import { setTimeout as pause } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Exit, Layer, Option, Scope } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { SqlClient } from "effect/sql"
import { type EventStream, Events } from "../../../../src/observe/events/Events.ts"
import { openPosition, sealPosition } from "../../../../src/observe/events/Position.ts"
import { prune } from "../../../../src/observe/retention/Pruner.ts"
import { Actors } from "../../../../src/store/Actors.ts"
import { Database } from "../../../../src/store/Database.ts"
import { Journal } from "../../../../src/store/Journal.ts"
import { encodeInsert } from "../../../../src/store/JournalEncoding.ts"
import type { ActorInsert, CommitOutcome } from "../../../../src/store/JournalRecord.ts"
import { insertActors } from "../../../../src/store/JournalStatements.ts"
import { Output } from "../../../../src/store/Output.ts"
import { Ledger } from "../../../../src/wallet/Ledger.ts"
import { ShiftedClock } from "../../../support/ShiftedClock.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testSettings } from "../../../support/TestSettings.ts"
import { until } from "../../../support/until.ts"

interface Shown {
  readonly id: string
  readonly actorId: string
  readonly sandboxId: string
  readonly kind: string
  readonly revision: number
}

const insertOf = (accountId: string, sandboxId: string, id: string, kind: string): ActorInsert => ({
  row: {
    id,
    kind,
    accountId,
    sandboxId,
    machineVersion: 1,
    revision: 1,
    snapshot: { value: "open", context: {} },
    pending: [],
    deadlines: {},
    changedAt: 1
  },
  input: {},
  payload: null,
  dueAt: null,
  createdAt: 1,
  transition: {
    at: 1,
    event: { type: "CREATED" },
    from: null,
    to: "open",
    commands: [],
    cause: "test",
    requestId: null
  },
  idempotency: null
})

/** The parts of a process that write and that stream, with separate connections: one scope is one life of it. */
const lifeOf = (environment: Readonly<Record<string, string>> = {}, heartbeatMs = 15_000) =>
  lifeWith(Events.layer({ heartbeatMs }), environment)

const lifeWith = (events: ReturnType<typeof Events.layer>, environment: Readonly<Record<string, string>> = {}) =>
  Layer.fresh(events).pipe(
    Layer.provideMerge(
      Layer.mergeAll(Layer.fresh(Journal.layer), Layer.fresh(Actors.layer), Layer.fresh(Output.layer))
    ),
    Layer.provide(Layer.fresh(Database.layerOn)),
    Layer.provide(testSettings(environment))
  )

/** A clock on which only 15 s pass in a moment. */
class HastyClock extends ShiftedClock {
  override sleep(duration: Duration.Duration): Effect.Effect<void> {
    return super.sleep(Duration.toMillis(duration) === 15_000 ? Duration.millis(10) : duration)
  }
}

type Life = Context.Context<Events | Journal | Output>

const begin = <E, R>(layer: Layer.Layer<Events | Journal | Output, E, R>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const context: Life = yield* Layer.buildWithScope(layer, scope)
    return { context, end: Scope.close(scope, Exit.void) }
  })

const parse = (piece: Buffer): { readonly shown: ReadonlyArray<Shown>; readonly lastId: string } => {
  const shown: Array<Shown> = []
  let lastId = ""
  for (const part of piece.toString().split("\n\n")) {
    const id = /^id: (.*)$/m.exec(part)?.[1]
    const data = /^data: (.*)$/m.exec(part)?.[1]
    if (id !== undefined) lastId = id
    if (data !== undefined) shown.push({ ...JSON.parse(data), id: id! })
  }
  return { shown, lastId }
}

const openOn = (life: Life, accountId: string, sandboxId: string | null, after: string | null) =>
  Context.get(life, Events).open({ accountId, sandboxId, after })

/** Null when it has ended. */
const nextOf = (stream: EventStream) => new Promise<Buffer | null>((resolve) => stream.next(resolve))

/** A client that reads until it is stopped, and keeps what it has read. */
class Reading {
  readonly shown: Array<Shown> = []
  lastId: string | null = null
  readonly stream: EventStream
  readonly done: Promise<void>
  constructor(stream: EventStream) {
    this.stream = stream
    this.done = (async () => {
      for (let piece = await nextOf(stream); piece !== null; piece = await nextOf(stream)) {
        const { shown, lastId } = parse(piece)
        this.shown.push(...shown)
        if (lastId !== "") this.lastId = lastId
      }
    })()
  }
  async until(holds: () => boolean) {
    for (let waitedMs = 0; !holds(); waitedMs += 5) {
      if (waitedMs > 20_000) throw new Error(`After 20 s: ${JSON.stringify(this.shown)}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

const write = (life: Life, insert: ActorInsert) => Effect.runPromise(Context.get(life, Journal).insert(insert))

const commit = (life: Life, accountId: string, actorId: string, kind: string, revision: number) =>
  new Promise<CommitOutcome>((resolve) =>
    Context.get(life, Journal).commit(
      {
        actorId,
        kind,
        accountId,
        revision,
        snapshot: { value: "open", context: {} },
        replaces: { value: "open", context: {} },
        pending: null,
        deadlines: null,
        dueAt: null,
        transition: {
          at: revision,
          event: { type: "STEP", padding: "x".repeat(300) },
          from: "open",
          to: "open",
          commands: [{ key: `${revision}.0`, type: "doIt", params: { at: 1 } }],
          cause: "test",
          requestId: null
        }
      },
      resolve
    )
  )

const keysOf = (shown: ReadonlyArray<Shown>) => shown.map(({ actorId, revision }) => `${actorId} ${revision}`)

/** Returns when every transaction of the server that was open has ended, so that a feed delivers new transitions. */
const untilAllTold = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [begun] = yield* sql<{ readonly id: string }>`select pg_current_xact_id()::text as id`
  yield* until(
    sql<{ readonly oldest: string }>`select pg_snapshot_xmin(pg_current_snapshot())::text as oldest`,
    ([row]) => BigInt(row!.oldest) > BigInt(begun!.id)
  )
})

const isOrdered = (shown: ReadonlyArray<Shown>): boolean => {
  const last = new Map<string, number>()
  return shown.every(({ actorId, revision }) => {
    const isNext = !last.has(actorId) || last.get(actorId)! + 1 === revision
    last.set(actorId, revision)
    return isNext
  })
}

describe("the feed of transitions", () => {
  it.live("delivers each transition once and in order, through cuts, ends and slow readers", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const services = yield* Effect.context<Layer.Services<ReturnType<typeof lifeOf>>>()
      // Any number: it only shows that there are other processes.
      const life = () => begin(lifeOf({ ATOLL_CLUSTER_PORT: "1" }))
      // Two write; the third only streams, and is replaced all the time.
      const lives = [yield* life(), yield* life(), yield* life()]
      const accounts = ["acc_a", "acc_b"]
      const sandboxes = ["sbx_1", "sbx_2"]
      const actors = accounts.flatMap((accountId) =>
        sandboxes.flatMap((sandbox) => {
          const sandboxId = `${sandbox}_${accountId}`
          return [
            { accountId, sandboxId, id: sandboxId, kind: "sandbox" },
            ...Array.from({ length: 6 }, (_, n) => ({
              accountId,
              sandboxId,
              id: `op_${n}_${sandboxId}`,
              kind: n === 0 ? "wallet" : "operation"
            }))
          ]
        })
      )
      for (const { accountId, sandboxId, id, kind } of actors) {
        yield* Effect.promise(() => write(lives[0]!.context, insertOf(accountId, sandboxId, id, kind)))
      }
      let isOver = false
      const writer = (n: number) => lives[n % 2]!.context
      const teller = (n: number) => lives[n % 3]!.context

      /** Reads like a client that disconnects at any moment, and resumes after its last event at any process. */
      const client = async (n: number, accountId: string, sandboxId: string | null, slowMs: number, start: string) => {
        const shown: Array<Shown> = []
        let after = start
        let quietTimes = 0
        for (let visit = n; quietTimes < 3; visit++) {
          const opening = openOn(teller(visit), accountId, sandboxId, after).pipe(Effect.timeoutOption(1000))
          const stream = Option.getOrNull(await Effect.runPromise(opening))
          // Its process has ended.
          if (stream === null) continue
          const leaveAfter = 1 + Math.floor(Math.random() * 40)
          const timer = setTimeout(() => stream.close(), isOver ? 400 : 100 + Math.random() * 600)
          let count = 0
          for (let piece = await nextOf(stream); piece !== null; piece = await nextOf(stream)) {
            const told = parse(piece)
            // Cut in the middle of the bytes: only whole events count, and the rest comes again.
            const whole = visit % 3 === 0 ? told.shown.slice(0, Math.ceil(told.shown.length / 2)) : told.shown
            shown.push(...whole)
            count += whole.length
            after = whole.length === told.shown.length ? told.lastId : whole[whole.length - 1]!.id
            if (whole.length < told.shown.length || count > leaveAfter) break
            if (slowMs > 0) await pause(slowMs)
          }
          clearTimeout(timer)
          stream.close()
          quietTimes = isOver && count === 0 ? quietTimes + 1 : 0
        }
        return shown
      }

      // Otherwise the first steps, which are written here, would be after the start.
      yield* untilAllTold
      const starts = new Map<string, string>()
      for (const accountId of accounts) {
        const first = new Reading(yield* openOn(teller(0), accountId, null, null))
        yield* Effect.promise(() => first.until(() => first.lastId !== null))
        starts.set(accountId, first.lastId!)
        first.stream.close()
      }
      const whose = [
        ["acc_a", null, 0],
        ["acc_a", null, 3],
        ["acc_a", "sbx_1_acc_a", 0],
        ["acc_b", null, 1],
        ["acc_b", "sbx_2_acc_b", 20]
      ] as const
      const clients = whose.map(([accountId, sandboxId, slowMs], n) =>
        client(n, accountId, sandboxId, slowMs, starts.get(accountId)!)
      )

      // Each actor's steps, one after the other, by any process; and resources that are made in separate transactions,
      // some of them long.
      let made = 0
      const writers = [
        ...actors.map(async ({ accountId, id, kind }, n) => {
          for (let revision = 2; revision <= 60; revision++) {
            const outcome = await commit(writer(n + (revision >> 3)), accountId, id, kind, revision)
            assert.strictEqual(outcome, "committed")
          }
        }),
        ...accounts.flatMap((accountId) =>
          [1, 2].map(async (n) => {
            for (let i = 0; i < 25; i++) {
              const sandboxId = `sbx_${n}_${accountId}`
              const inserted = insertOf(accountId, sandboxId, `op_made_${made++}_${sandboxId}`, "operation")
              await Effect.runPromise(
                sql
                  .withTransaction(
                    Effect.gen(function* () {
                      yield* sql`select pg_current_xact_id()::text`
                      yield* Effect.sleep(Math.random() * 20)
                      yield* insertActors(sql, [encodeInsert(inserted)], [inserted.row.id])
                      yield* Effect.sleep(Math.random() * 20)
                    })
                  )
                  .pipe(Effect.orDie)
              )
              Context.get(writer(n), Journal).tellWritten([accountId])
            }
          })
        )
      ]
      const disturb = async () => {
        while (!isOver) {
          await pause(400)
          const old = lives[2]!
          lives[2] = await Effect.runPromise(Effect.provideContext(life(), services))
          await Effect.runPromise(old.end)
          await Effect.runPromise(
            sql`select pg_terminate_backend(pid) from pg_stat_activity
                  where datname = current_database() and application_name in ('atoll-journal', 'atoll-events')`.pipe(
              Effect.ignore
            )
          )
        }
      }
      const disturbing = disturb()
      yield* Effect.promise(() => Promise.all(writers))
      isOver = true
      yield* Effect.promise(() => disturbing)
      const results = yield* Effect.promise(() => Promise.all(clients))

      const rows = yield* sql<{ key: string; account: string; sandbox: string }>`
          select t.actor_id || ' ' || t.revision as key, a.account_id as account, a.sandbox_id as sandbox
          from transitions t join actors a on a.id = t.actor_id where a.kind <> 'wallet' and (t.revision > 1 or a.id like 'op_made%')`
      results.forEach((shown, index) => {
        const [account, sandbox] = whose[index]!
        const expected = rows.filter((row) => row.account === account && (sandbox === null || row.sandbox === sandbox))
        assert.isTrue(isOrdered(shown), `client ${index}`)
        assert.deepStrictEqual(keysOf(shown).toSorted(), expected.map(({ key }) => key).toSorted(), `client ${index}`)
      })
      for (const { end } of lives) yield* end
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer))
  )

  it.live("waits for a transaction that began earlier, and delivers its transitions first", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { context, end } = yield* begin(lifeOf())
      yield* Effect.promise(() => write(context, insertOf("acc_a", "sbx_a", "sbx_a", "sandbox")))
      const reading = new Reading(yield* openOn(context, "acc_a", null, null))
      // The creation of its Sandbox may be there, too, if a transaction of another database of the server was open when
      // it was written.
      const operationsShown = () => keysOf(reading.shown).filter((key) => key.startsWith("op_"))
      const inserted = insertOf("acc_a", "sbx_a", "op_early", "operation")
      yield* Effect.gen(function* () {
        yield* insertActors(sql, [encodeInsert(inserted)], ["early"])
        // Committed while the earlier transaction is still open.
        yield* Effect.promise(() => write(context, insertOf("acc_a", "sbx_a", "op_late", "operation")))
        yield* Effect.sleep(300)
        assert.deepStrictEqual(operationsShown(), [])
      }).pipe(sql.withTransaction)
      yield* Effect.promise(() => reading.until(() => operationsShown().length === 2))
      assert.deepStrictEqual(operationsShown(), ["op_early 1", "op_late 1"])
      reading.stream.close()
      yield* end
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer))
  )

  it.live("does not wait for a transaction that only reads", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { context, end } = yield* begin(lifeOf())
      const reading = new Reading(yield* openOn(context, "acc_a", null, null))
      yield* Effect.gen(function* () {
        yield* sql`set transaction isolation level repeatable read`
        yield* sql`select count(*) from transitions`
        yield* Effect.promise(() => write(context, insertOf("acc_a", "sbx_a", "sbx_a", "sandbox")))
        yield* Effect.promise(() => reading.until(() => reading.shown.length === 1))
      }).pipe(sql.withTransaction)
      reading.stream.close()
      yield* end
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer))
  )

  it.live("receives another process's commits without polling, and measures its lag from the commit", () =>
    Effect.gen(function* () {
      const lag = Effect.map(PrometheusMetrics.format(), (text) => {
        const of = (name: string) =>
          Number(new RegExp(`^atoll_feed_lag_seconds_${name} (.*)$`, "m").exec(text)?.[1] ?? 0)
        return { count: of("count"), sum: of("sum") }
      })
      const one = yield* begin(lifeOf({ ATOLL_CLUSTER_PORT: "1" }, 3_600_000))
      const other = yield* begin(lifeOf({ ATOLL_CLUSTER_PORT: "1" }, 3_600_000))
      const reading = new Reading(yield* openOn(one.context, "acc_a", null, null))
      const before = yield* lag
      for (let n = 1; n <= 5; n++) {
        yield* Effect.promise(() => write(other.context, insertOf("acc_a", "sbx_a", `op_${n}`, "operation")))
        yield* Effect.promise(() => reading.until(() => reading.shown.length === n))
      }
      const after = yield* lag
      assert.isAtLeast(after.count - before.count, 5)
      // The feed gathers commits for 5 ms before it delivers them: that counts.
      assert.isAtLeast(after.sum - before.sum, 0.02)
      reading.stream.close()
      yield* one.end
      yield* other.end
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer))
  )

  it.live("receives another process's output without polling, by operation and by Sandbox", () =>
    Effect.gen(function* () {
      const one = yield* begin(lifeOf({ ATOLL_CLUSTER_PORT: "1" }, 3_600_000))
      const other = yield* begin(lifeOf({ ATOLL_CLUSTER_PORT: "1" }, 3_600_000))
      const heard: Array<string> = []
      const output = Context.get(one.context, Output)
      const unheard = ["op_a", "sbx_a", "op_b"].map((id) => output.onAppend(id, () => void heard.push(id)))
      const append = (offset: number) =>
        Context.get(other.context, Output).append([
          {
            ownerId: "op_a",
            stream: "stdout",
            sandboxId: "sbx_a",
            source: "workload",
            follows: offset,
            offset,
            bytes: Buffer.from("a"),
            at: 1
          }
        ])
      const until = Effect.fnUntraced(function* (holds: () => boolean) {
        for (let n = 0; !holds(); n++) {
          if (n > 4000) throw new Error(`After 20 s: ${heard.join(" ")}`)
          yield* Effect.sleep(5)
        }
      })
      // The other process learns only after a while that this one listens: until then it sends nothing, and then
      // everything once.
      let offset = 0
      do {
        heard.splice(0)
        yield* append(offset++)
        yield* until(() => heard.includes("op_a") && heard.includes("sbx_a"))
      } while (heard.includes("op_b"))
      for (const stop of unheard) stop()
      yield* one.end
      yield* other.end
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer))
  )

  it.live("sends a heartbeat every 15 s when there is no event", () =>
    Effect.gen(function* () {
      const beganAt = performance.now()
      const { context, end } = yield* begin(lifeWith(Events.layer()))
      const stream = yield* openOn(context, "acc_a", null, null)
      for (let beats = 0; beats < 3; ) {
        const piece = (yield* Effect.promise(() => nextOf(stream)))!.toString()
        if (piece.startsWith(": heartbeat\n")) beats++
      }
      assert.isBelow(performance.now() - beganAt, 30_000)
      stream.close()
      yield* end
    }).pipe(Effect.provideService(Clock.Clock, new HastyClock()), Effect.scoped, Effect.provide(TestDatabase.layer))
  )

  it.live("advances the id of its heartbeats though its Sandbox has no event", () =>
    Effect.gen(function* () {
      const { context, end } = yield* begin(lifeOf({}, 50))
      yield* Effect.promise(() => write(context, insertOf("acc_a", "sbx_a", "sbx_a", "sandbox")))
      const stream = yield* openOn(context, "acc_a", "sbx_a", null)
      const opening = parse((yield* Effect.promise(() => nextOf(stream)))!)
      const first = opening.lastId
      // A writer in another database of this server may delay what was written before: then it comes after a heartbeat.
      const late = new Set(["sbx_a 1", "sbx_b 1"])
      for (const key of keysOf(opening.shown)) late.delete(key)
      yield* Effect.promise(() => write(context, insertOf("acc_a", "sbx_b", "sbx_b", "sandbox")))
      let last = first
      while (last === first) {
        const piece = (yield* Effect.promise(() => nextOf(stream)))!
        const { shown, lastId } = parse(piece)
        if (keysOf(shown).join() === "sbx_a 1") {
          late.delete("sbx_a 1")
          continue
        }
        assert.match(piece.toString(), /^: heartbeat\nid: [\w-]+\n\n$/)
        last = lastId
      }
      stream.close()
      const again = new Reading(yield* openOn(context, "acc_a", null, last))
      yield* Effect.promise(() => write(context, insertOf("acc_a", "sbx_c", "sbx_c", "sandbox")))
      yield* Effect.promise(() => again.until(() => keysOf(again.shown).includes("sbx_c 1")))
      assert.deepStrictEqual(
        keysOf(again.shown).filter((key) => !late.has(key)),
        ["sbx_c 1"]
      )
      again.stream.close()
      yield* end
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer))
  )

  it.live("calls a position stale once a later transition was removed, and not sooner", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { context, end } = yield* begin(lifeOf())
      yield* Effect.promise(() => write(context, insertOf("acc_a", "sbx_a", "sbx_a", "sandbox")))
      const start = new Reading(yield* openOn(context, "acc_a", null, null))
      yield* Effect.promise(() => start.until(() => start.lastId !== null))
      const before = start.lastId!
      const another = new Reading(yield* openOn(context, "acc_b", null, null))
      yield* Effect.promise(() => another.until(() => another.lastId !== null))
      const beforeOfAnother = another.lastId!
      another.stream.close()
      yield* Effect.promise(() => write(context, insertOf("acc_a", "sbx_a", "op_old", "operation")))
      yield* Effect.promise(() => write(context, insertOf("acc_a", "sbx_a", "op_new", "operation")))
      // The Sandbox itself may be delivered, too: the stream may have begun while another writer still delayed it.
      const operations = () => start.shown.filter(({ kind }) => kind === "operation")
      yield* Effect.promise(() => start.until(() => operations().length === 2))
      const [old, newer] = operations()
      yield* sql`update actors set ended_at = 1 where id = 'op_old'`
      yield* prune().pipe(Effect.provide(Ledger.layer.pipe(Layer.provideMerge(testSettings()))))
      const [left] = yield* sql<{
        count: number
      }>`select count(*)::int4 as count from transitions where actor_id = 'op_old'`
      assert.strictEqual(left!.count, 0)
      const outcome = (after: string, accountId = "acc_a") =>
        Effect.match(openOn(context, accountId, null, after), {
          onSuccess: (stream) => {
            stream.close()
            return "open"
          },
          onFailure: ({ _tag }) => _tag
        })
      assert.strictEqual(yield* outcome(before), "CURSOR_STALE")
      assert.strictEqual(yield* outcome(old!.id), "CURSOR_STALE")
      assert.strictEqual(yield* outcome(newer!.id), "open")
      assert.strictEqual(yield* outcome(beforeOfAnother, "acc_b"), "open")
      assert.strictEqual(yield* outcome(newer!.id, "acc_b"), "CURSOR_STALE")
      start.stream.close()
      yield* end
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer))
  )

  it.live("starts over in a database that was restored on another server", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const first = yield* begin(lifeOf())
      yield* Effect.promise(() => write(first.context, insertOf("acc_a", "sbx_a", "sbx_a", "sandbox")))
      const stream = yield* openOn(first.context, "acc_a", null, null)
      const id = parse((yield* Effect.promise(() => nextOf(stream)))!).lastId
      yield* first.end
      yield* sql`update transition_eras set server = '1'`
      // As in a copy: its numbers are those of another server, and may be reached here in time.
      yield* sql`update transitions set xact = '999999999'`
      const second = yield* begin(lifeOf())
      const failure = yield* Effect.flip(openOn(second.context, "acc_a", null, id))
      assert.strictEqual(failure._tag, "CURSOR_STALE")
      const [row] = yield* sql<{ count: number }>`
        select count(*)::int4 as count from transitions where account_key is not null`
      assert.strictEqual(row!.count, 0)
      const reading = new Reading(yield* openOn(second.context, "acc_a", null, null))
      yield* Effect.promise(() => commit(second.context, "acc_a", "sbx_a", "sandbox", 2))
      yield* Effect.promise(() => reading.until(() => reading.shown.length > 0))
      assert.deepStrictEqual(keysOf(reading.shown), ["sbx_a 2"])
      yield* second.end
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer))
  )

  it("gives positions that only the feed can read", () => {
    const position = { xact: 12, done: 3 }
    const owner = { era: "0123abcd", accountId: "acc_a" }
    const sealed = sealPosition(owner, position)
    assert.deepStrictEqual(openPosition(owner, sealed), position)
    assert.strictEqual(openPosition({ ...owner, era: "0123abce" }, sealed), "stale")
    assert.strictEqual(openPosition({ ...owner, accountId: "acc_b" }, sealed), "stale")
    const changed = Buffer.from(sealed, "base64url")
      .toString()
      .replace(/12\.3$/, "13.3")
    assert.strictEqual(openPosition(owner, Buffer.from(changed).toString("base64url")), "stale")
    assert.isNull(openPosition(owner, `${sealed}A`))
    assert.isNull(openPosition(owner, "12.3"))
    // As an earlier version gave it.
    assert.deepStrictEqual(openPosition(owner, Buffer.from("0123abcd.12.3").toString("base64url")), position)
  })
})
