/**
 * The database fails in every way, under load: clients get 503 and never 500, and what was acknowledged is kept.
 */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { isTransient } from "../../../../src/store/DatabaseFault.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { hang } from "../../../support/http/commands.ts"
import { type Answer, TestApi } from "../../../support/http/TestApi.ts"
import { OwnPostgres } from "../../../support/OwnPostgres.ts"
import { lines, linesWith, remember } from "../../../support/serviceLog.ts"

const count = (words: string) => lines.filter((line) => line.includes(words)).length
const outageWords = "The database does not serve"
const outages = () => count(outageWords)
/** Each logs it once: the service; or two of them, and this process, which reads the database beside them. */
const watches = isOverAFleet ? 3 : 1

/** The effects of the test before have ended. */
const quiet = Effect.repeat(Effect.sleep(50), { until: () => outages() === count("The database serves again") })

/** The end of an outage is no warning. */
const logged = isOverAFleet ? { ATOLL_LOG_LEVEL: "info" } : {}

const service = TestApi.on(logged).pipe(Layer.provideMerge(OwnPostgres.layer), Layer.provide(Logger.layer([remember])))

const atOnce = 8
/** More operations than a blocked backend lets through; real machines run operations more slowly. */
const goneOn = isOverAFleet ? 50 : 200

layer(service, { excludeTestServices: true })("without its database, a service", (it) => {
  /**
   * Clients that read, start operations and cancel them until they are stopped; the codes of all answers, and what was
   * acknowledged.
   */
  const clients = Effect.gen(function* () {
    yield* quiet
    const { send, newSandbox, newWorkspace } = yield* TestApi
    const sql = yield* SqlClient.SqlClient
    const sandbox = `/api/v2/sandboxes/${yield* Effect.promise(async () => newSandbox(await newWorkspace()))}`
    const answers: Array<Answer> = []
    const acknowledged = new Map<string, string>()
    let isOver = false
    let isHalted = false
    let resting = 0
    const client = async () => {
      while (!isOver) {
        if (isHalted) {
          resting++
          while (isHalted) await new Promise((resolve) => setTimeout(resolve, 10))
          resting--
        }
        answers.push(await send("GET", sandbox))
        const started = await send("POST", `${sandbox}/operations`, {
          body: { argv: hang },
          headers: { "idempotency-key": randomUUID() }
        })
        answers.push(started)
        if (started.status >= 300) continue
        const { id } = started.json.operation
        acknowledged.set(id, "any")
        const cancelled = await send("POST", `${sandbox}/operations/${id}/cancel`)
        answers.push(cancelled)
        if (cancelled.status < 300) acknowledged.set(id, "cancelled")
      }
    }
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isOver = true
      })
    )
    const statuses = () =>
      Object.entries(Object.groupBy(answers, ({ status }) => status)).map(([status, some]) => [status, some?.length])
    const running = Array.from({ length: atOnce }, client)
    return {
      answers,
      /** Resolves after so many more answers with that status. */
      answered: (status: number, more: number) => {
        const found = () => answers.filter((answer) => answer.status === status).length
        const before = found()
        return Effect.repeat(Effect.sleep(20), { until: () => found() >= before + more }).pipe(
          Effect.timeoutOrElse({
            duration: "90 seconds",
            orElse: () => Effect.die(new Error(`Not answered: ${status}; ${JSON.stringify(statuses())}`))
          })
        )
      },
      /** Runs it while the clients pause. */
      halted: <A>(effect: Effect.Effect<A>) =>
        Effect.sync(() => {
          isHalted = true
        }).pipe(
          Effect.andThen(Effect.repeat(Effect.sleep(10), { until: () => resting === atOnce })),
          Effect.andThen(effect),
          Effect.ensuring(
            Effect.sync(() => {
              isHalted = false
            })
          )
        ),
      /** Every answer was 2xx or 503, and everything acknowledged is there. */
      end: Effect.promise(async () => {
        isOver = true
        await Promise.all(running)
        for (const { status, json, headers } of answers) {
          if (status < 300) continue
          assert.deepStrictEqual(
            [status, json?.code, headers["retry-after"]],
            [503, "SERVICE_UNAVAILABLE", "2"],
            JSON.stringify(json)
          )
          assert.deepStrictEqual(json.details, json.details && { outcome: "unknown" })
        }
        assert.isAbove(acknowledged.size, 0)
      }).pipe(
        Effect.andThen(sql<{ readonly id: string; readonly status: string }>`select id, status from actors`),
        Effect.map((rows) => {
          const stored = new Map(rows.map(({ id, status }) => [id, status]))
          for (const [id, status] of acknowledged) {
            assert.isTrue(stored.has(id), id)
            if (status !== "any") assert.strictEqual(stored.get(id), status)
          }
        })
      )
    }
  })

  it.effect("goes through a recovery of the whole server when a backend is killed: clients wait, or get 503", () =>
    Effect.gen(function* () {
      const { signalBackend } = yield* OwnPostgres
      const { answered, end } = yield* clients
      yield* answered(200, 50)
      for (let kill = 0; kill < 3; kill++) {
        yield* signalBackend(kill % 2 === 0 ? "atoll-journal" : "atoll", "SIGKILL")
        yield* answered(202, 20)
      }
      yield* end
    })
  )

  it.effect("loses nothing that was acknowledged when the server is killed and restarted", () =>
    Effect.gen(function* () {
      const { pid } = yield* OwnPostgres
      const { answered, end } = yield* clients
      yield* answered(200, 50)
      const before = yield* pid
      process.kill(before, "SIGKILL")
      yield* Effect.repeat(pid, { schedule: Schedule.spaced(5), until: (now) => now !== before })
      yield* answered(202, 20)
      yield* end
    })
  )

  it.effect("detects a frozen server: clients get 503 in time, health answers immediately, one line is logged", () =>
    Effect.gen(function* () {
      const { send } = yield* TestApi
      const { signalAll } = yield* OwnPostgres
      const { answered, answers, end } = yield* clients
      yield* answered(200, 50)
      const before = outages()
      yield* Effect.acquireRelease(signalAll("SIGSTOP"), () => signalAll("SIGCONT"))
      const frozen = performance.now()
      // Reported within the second check; to clients within their time-out and as much again.
      const status = Effect.promise(() => send("GET", "/healthz", { key: null }).then((answer) => answer.status))
      yield* Effect.repeat(Effect.delay(status, 20), { until: (found) => found === 503 })
      assert.isBelow(performance.now() - frozen, 20_000)
      yield* answered(503, 3 * atOnce)
      assert.isBelow(performance.now() - frozen, 45_000)
      const asked = performance.now()
      const health = yield* Effect.promise(() => send("GET", "/healthz", { key: null }))
      assert.deepStrictEqual([health.status, health.json.database], [503, "unavailable"])
      for (const [query, status] of [
        ["", 503],
        ["?unready=404", 404],
        ["?unready=200", 503]
      ] as const) {
        const readiness = yield* Effect.promise(() => send("GET", `/readyz${query}`, { key: null }))
        const said = { status: "unready", reason: "The database does not serve." }
        assert.deepStrictEqual([readiness.status, readiness.json], [status, said])
      }
      assert.isBelow(performance.now() - asked, 15_000)
      yield* Effect.promise(() => linesWith(outageWords, ({ length }) => length >= before + watches))
      assert.strictEqual(outages(), before + watches)
      yield* signalAll("SIGCONT")
      yield* answered(202, 20)
      yield* end
      assert.isAbove(answers.length, 0)
    })
  )

  it.effect("delays no client for long by one frozen backend, although the server answers all others", () =>
    Effect.gen(function* () {
      const { freezeBackend, signalAll } = yield* OwnPostgres
      const { answered, halted, end } = yield* clients
      yield* answered(200, 50)
      yield* halted(freezeBackend("atoll-journal"))
      yield* Effect.addFinalizer(() => signalAll("SIGCONT"))
      yield* answered(202, goneOn)
      yield* end
    })
  )

  it.effect("answers 503 and nothing else while every connection is taken, and while the database is read-only", () =>
    Effect.gen(function* () {
      const { takeAllConnections, admin } = yield* OwnPostgres
      const { answered, end } = yield* clients
      yield* answered(200, 50)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const refused = yield* takeAllConnections
          assert.isTrue(isTransient(refused), String(refused))
          yield* answered(503, atOnce)
        })
      )
      yield* answered(202, 20)
      yield* admin("alter system set default_transaction_read_only = on")
      yield* admin("select pg_reload_conf()")
      yield* answered(503, 2 * atOnce)
      yield* admin(
        "begin; set transaction read write; alter system set default_transaction_read_only = off; commit"
      ).pipe(Effect.catchDefect(() => admin("alter system reset default_transaction_read_only")))
      yield* admin("select pg_reload_conf()")
      yield* answered(202, 20)
      yield* end
    })
  )
})
