/** Lines of the log that are omitted because an outage of the database explains them. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Logger, References } from "effect"
import { SqlError } from "effect/sql"
import { withoutOutages } from "../../../src/app/OutageLines.ts"
import { DatabaseOutage, Outage } from "../../../src/store/DatabaseOutage.ts"

const connection = new SqlError.SqlError({
  reason: new SqlError.ConnectionError({ cause: new Error("Connection closed"), operation: "query" })
})
const unwritable = new SqlError.SqlError({
  reason: new SqlError.ConnectionError({
    cause: Object.assign(new Error("write EPIPE"), { code: "EPIPE", errno: -32, syscall: "write" }),
    operation: "query"
  })
})
const refusedWith = (code: string) =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({ cause: Object.assign(new Error(code), { code }), operation: "query" })
  })
const deadlock = new SqlError.SqlError({
  reason: new SqlError.DeadlockError({ cause: Object.assign(new Error("deadlock"), { code: "40P01" }) })
})

const logged = Effect.fnUntraced(function* (line: Effect.Effect<void>, lasts = true) {
  const lines: Array<unknown> = []
  const met: Array<unknown> = []
  const outage = new DatabaseOutage()
  outage.follow({ lasts: () => lasts, met: (error) => met.push(error) })
  const logger = withoutOutages(Logger.make(({ message }) => void lines.push([message].flat()[0])))
  yield* line.pipe(
    Effect.provideService(Outage, outage),
    Effect.provide(Logger.layer([logger])),
    Effect.provideService(References.MinimumLogLevel, "Debug")
  )
  return { lines, met: met.length }
})

const about = (cause: Cause.Cause<unknown>) => Effect.logWarning("It failed", cause)

describe("a line of the log", () => {
  const explained: ReadonlyArray<readonly [string, Cause.Cause<unknown>]> = [
    ["a connection that broke", Cause.fail(connection)],
    ["a defect by that", Cause.die(connection)],
    ["a connection that takes no bytes", Cause.fail(unwritable)],
    ["a server that ends", Cause.fail(refusedWith("57P01"))],
    ["a server that is full", Cause.fail(refusedWith("53300"))],
    ["a server that takes no changes", Cause.fail(refusedWith("25006"))],
    ["a fault around that", Cause.fail(new Error("not stored", { cause: connection }))]
  ]
  for (const [what, cause] of explained) {
    it.effect(`is omitted and counted if its cause is ${what}`, () =>
      Effect.map(logged(about(cause)), (found) => assert.deepStrictEqual(found, { lines: [], met: 1 }))
    )
  }

  it.effect("is omitted and counted if it has the error itself", () =>
    Effect.map(logged(Effect.logWarning("It failed", connection)), (found) =>
      assert.deepStrictEqual(found, { lines: [], met: 1 })
    )
  )

  const told: ReadonlyArray<readonly [string, Effect.Effect<void>]> = [
    ["without a cause", Effect.logWarning("It failed")],
    ["whose cause is another fault", about(Cause.die(new TypeError("ours")))],
    ["whose error is another one", Effect.logWarning("It failed", new TypeError("ours"))],
    ["whose cause is a deadlock", about(Cause.fail(deadlock))],
    ["whose cause is a statement that is wrong", about(Cause.fail(refusedWith("42703")))],
    ["with another fault beside the outage", about(Cause.combine(Cause.fail(connection), Cause.die(new Error("ours"))))]
  ]
  for (const [what, line] of told) {
    it.effect(`is kept ${what}, in an outage, too`, () =>
      Effect.map(logged(line), ({ lines }) => assert.deepStrictEqual(lines, ["It failed"]))
    )
  }

  it.effect("of the cluster is omitted during an outage, and kept otherwise", () =>
    Effect.gen(function* () {
      const line = Effect.annotateLogs(Effect.logWarning("Could not release shards"), {
        module: "effect/cluster/Sharding"
      })
      assert.deepStrictEqual((yield* logged(line)).lines, [])
      assert.deepStrictEqual((yield* logged(line, false)).lines, ["Could not release shards"])
      // As Effect writes it, without its module.
      const unhealthy = Effect.logError("Shard lock storage is unhealthy", Cause.fail(new Cause.TimeoutError()))
      assert.deepStrictEqual((yield* logged(unhealthy)).lines, [])
      assert.deepStrictEqual((yield* logged(unhealthy, false)).lines, ["Shard lock storage is unhealthy"])
    })
  )
})
