/** A follower of the log gets each entry once, in any order of commits, and loses none between two reads. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import type { LogEvent, LogFollowing, LogReading } from "../../../../src/observe/logs/LogReading.ts"
import { Logs } from "../../../../src/observe/logs/Logs.ts"
import { MaintenanceDatabase } from "../../../../src/store/Database.ts"
import { Output } from "../../../../src/store/Output.ts"
import type { OutputSource } from "../../../../src/store/OutputChunk.ts"
import { newAccount, testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { createIn } from "../../../support/TestSandboxes.ts"
import { untilFound } from "../../../support/until.ts"

const all: LogFollowing = { since: null, stream: null, source: null, operationId: null, limit: 1000, after: null }

const newSandbox = Effect.gen(function* () {
  const account = yield* newAccount
  const { accountId } = account
  const { sandbox } = yield* createIn(account)
  const output = yield* Output
  const ends = new Map<string, number>()
  const write = (owner: string, text: string, source: OutputSource = "process") => {
    const ownerId = `${owner}_${sandbox.id}`
    const bytes = Buffer.from(text)
    const offset = ends.get(ownerId) ?? 0
    ends.set(ownerId, offset + bytes.length)
    const chunk = { ownerId, stream: "stdout" as const, sandboxId: sandbox.id, source, follows: offset, offset, bytes }
    return output.append([{ ...chunk, at: Date.now() }])
  }
  const logs = yield* Logs
  const follow = (following: Partial<LogFollowing> = {}) =>
    Effect.acquireRelease(logs.follow(accountId, sandbox.id, { ...all, ...following }), (reading) =>
      Effect.sync(reading.close)
    )
  return { sandboxId: sandbox.id, write, follow }
})

const next = (reading: LogReading) =>
  Effect.promise(() => new Promise<LogEvent | null>((resolve) => reading.next(resolve)))

/** Its events until it has so many entries. */
const take = Effect.fnUntraced(function* (reading: LogReading, count: number) {
  const events: Array<Extract<LogEvent, { readonly type: "log" }>> = []
  while (events.flatMap(({ entries }) => entries).length < count) {
    const event = yield* next(reading)
    if (event?.type === "log") events.push(event)
  }
  return { entries: events.flatMap(({ entries }) => entries), position: events.at(-1)!.position }
})

const texts = (entries: ReadonlyArray<{ readonly text: string }>) => entries.map(({ text }) => text)

const world = Layer.unwrap(Effect.map(SimulatedWorld.make, (made) => testAtoll(made)))

layer(world.pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })(
  "a follower of the log",
  (it) => {
    it.effect("by a hundred readers of one account leaves connections to everybody else", () =>
      Effect.gen(function* () {
        const { write, follow } = yield* newSandbox
        yield* write("op_a", "one")
        const sql = yield* SqlClient.SqlClient
        const maintenance = yield* MaintenanceDatabase
        const readings = yield* Effect.forEach(Array.from({ length: 100 }), () => follow())
        const first = yield* maintenance.withTransaction(
          Effect.gen(function* () {
            // Each read lasts until this transaction has ended.
            yield* maintenance`lock table output_chunks in access exclusive mode`
            const begun = yield* Effect.forEach(readings, (reading) => Effect.forkScoped(next(reading)))
            yield* Effect.promise(() =>
              untilFound(() =>
                Effect.runPromise(
                  Effect.map(
                    maintenance`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
                    ({ length }) => length > 0
                  )
                )
              )
            )
            yield* sql`select 1`.pipe(Effect.timeout("5 seconds"))
            return begun
          })
        )
        for (const fiber of first) assert.strictEqual((yield* Fiber.join(fiber))?.type, "log")
      })
    )

    it.effect(
      "starts with the newest matching entries and whether there are more, then gets each entry as it is stored",
      () =>
        Effect.gen(function* () {
          const { sandboxId, write, follow } = yield* newSandbox
          for (const text of ["one", "two", "three"]) yield* write("op_a", text)
          yield* write("exe_a", "four", "execute")
          const reading = yield* follow({ source: "process", limit: 2 })
          const first = yield* next(reading)
          assert.isTrue(first?.type === "log" && first.truncated)
          assert.deepStrictEqual(first?.type === "log" && texts(first.entries), ["two", "three"])
          yield* write("exe_a", "five", "execute")
          yield* write("op_a", "six")
          yield* write("op_b", "seven")
          assert.deepStrictEqual(texts((yield* take(reading, 2)).entries), ["six", "seven"])
          const ofOne = yield* follow({ operationId: `op_c_${sandboxId}` })
          yield* next(ofOne)
          yield* write("op_a", "eight")
          yield* write("op_c", "nine")
          assert.deepStrictEqual(texts((yield* take(ofOne, 1)).entries), ["nine"])
          const empty = yield* follow({ operationId: "op_nobody" })
          const nothing = yield* next(empty)
          assert.deepStrictEqual(nothing?.type === "log" && [nothing.entries, nothing.truncated], [[], false])
          const whole = yield* next(yield* follow())
          assert.deepStrictEqual(whole?.type === "log" && [texts(whole.entries), whole.truncated], [
            ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
            false
          ])
        })
    )

    it.effect("gets a large start in several small events, each entry once, with what was stored meanwhile", () =>
      Effect.gen(function* () {
        const { write, follow } = yield* newSandbox
        const long = (name: string) => `${name} ${"x".repeat(50_000)}`
        const names = Array.from({ length: 12 }, (_, at) => `${at}`)
        yield* write("op_a", "old")
        for (const name of names) yield* write(Number(name) % 2 === 0 ? "op_a" : "op_b", long(name))
        const reading = yield* follow({ limit: names.length })
        const events: Array<Extract<LogEvent, { readonly type: "log" }>> = []
        const one = Effect.gen(function* () {
          const event = yield* next(reading)
          assert(event?.type === "log")
          assert.isAtMost(texts(event.entries).join("").length, 128 * 1024)
          events.push(event)
        })
        yield* one
        // A reader that is slow: all of it is settled when the next event is asked for.
        yield* Effect.sleep(2_500)
        yield* write("op_c", long("meanwhile"))
        while (events.flatMap(({ entries }) => entries).length < names.length + 1) yield* one
        assert.deepStrictEqual(
          events.map(({ truncated }) => truncated),
          events.map((_, at) => at === 0)
        )
        const got = events.flatMap(({ entries }) => texts(entries)).map((text) => text.split(" ")[0])
        assert.deepStrictEqual(got, [...names, "meanwhile"])
        // From the position after the first event, a client that returns misses nothing.
        const again = yield* follow({ after: events[0]!.position })
        const after = new Set<string | undefined>()
        while (!after.has("meanwhile")) {
          const event = yield* next(again)
          if (event?.type === "log") for (const text of texts(event.entries)) after.add(text.split(" ")[0])
        }
        assert.includeMembers([...after], got.slice(events[0]!.entries.length))
      })
    )

    it.effect(
      "gets an entry that was numbered earlier and committed later, and resumes from a position without a loss",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const { sandboxId, write, follow } = yield* newSandbox
          yield* write("op_a", "one")
          const reading = yield* follow()
          yield* take(reading, 1)
          // A number is taken, and its entry is committed after the entry with the next number.
          const [taken] = yield* sql<{ readonly seq: bigint }>`
        select nextval(pg_get_serial_sequence('output_chunks', 'seq')) as seq`
          yield* write("op_a", "three")
          const { position } = yield* take(reading, 1)
          yield* sql`
        insert into output_chunks (owner_id, stream, start_offset, end_offset, sandbox_id, source, at, seq, bytes)
        overriding system value
        values ('op_late', 'stdout', 0, 3, ${sandboxId}, 'process', ${BigInt(Date.now())}, ${taken!.seq}, 'two'::bytea)`
          const late = yield* take(reading, 1)
          assert.deepStrictEqual(texts(late.entries), ["two"])

          yield* write("op_a", "four")
          const whole = (yield* take(yield* follow(), 4)).entries
          const again = (yield* take(yield* follow({ after: position }), 2)).entries
          const known = new Set(whole.filter(({ text }) => text === "one" || text === "three").map(({ id }) => id))
          assert.deepStrictEqual(texts(again.filter(({ id }) => !known.has(id))).toSorted(), ["four", "two"])
        })
    )
  }
)
