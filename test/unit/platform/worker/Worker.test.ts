import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Metric, Ref, Scope } from "effect"
import { TestClock } from "effect/testing"
import {
  obstacleOf,
  vitalWorker,
  WorkerList,
  Workers,
  waitingFor,
  worker
} from "../../../../src/platform/worker/Worker.ts"

describe("a worker", () => {
  const named = (list: WorkerList, name: string) => list.byName.find((one) => one.name === name)

  const endings: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown>, string]> = [
    ["an error", Effect.fail(new RangeError("secret")), "RangeError"],
    ["a defect", Effect.die({ _tag: "Odd", text: "secret" }), "Odd"],
    ["an interruption from within", Effect.interrupt, "Interrupted"],
    ["its own return", Effect.void, "Returned"]
  ]
  for (const [what, ending, fault] of endings) {
    it.effect(`is restarted after ${what}, and logs it without its words`, () =>
      Effect.gen(function* () {
        const list = new WorkerList()
        const runs = yield* Ref.make(0)
        const isBack = yield* Deferred.make<void>()
        const work = Effect.flatMap(
          Ref.updateAndGet(runs, (count) => count + 1),
          (count) => (count === 1 ? ending : Effect.andThen(Deferred.succeed(isBack, undefined), Effect.never))
        )
        yield* worker("diligent", work).pipe(Effect.provideService(Workers, list))
        while (named(list, "diligent")?.state !== "down") yield* Effect.yieldNow
        assert.deepStrictEqual(named(list, "diligent"), {
          name: "diligent",
          isVital: false,
          state: "down",
          waiting: null,
          restarts: 1,
          lastFault: fault
        })
        yield* TestClock.adjust("100 millis")
        yield* Deferred.await(isBack)
        assert.deepInclude(named(list, "diligent"), { state: "up", restarts: 1 })
      }).pipe(Effect.scoped)
    )
  }

  it.effect("is retried at ever longer intervals, and at short ones again after a good while", () =>
    Effect.gen(function* () {
      const list = new WorkerList()
      let began = 0
      let ms = 0
      const work = Effect.suspend(() => {
        began++
        return Effect.andThen(Effect.sleep(ms), Effect.fail("no"))
      })
      yield* worker("unlucky", work).pipe(Effect.provideService(Workers, list))
      const pausesFor = Effect.fnUntraced(function* (pauseMs: number) {
        const before = began
        yield* TestClock.adjust(pauseMs - 1)
        assert.strictEqual(began, before)
        yield* TestClock.adjust(1)
        assert.strictEqual(began, before + 1)
      })
      yield* TestClock.adjust(0)
      for (const pauseMs of [100, 200, 400, 800]) yield* pausesFor(pauseMs)
      ms = 120_000
      yield* pausesFor(1600)
      ms = 0
      yield* TestClock.adjust(120_000)
      yield* pausesFor(100)
    }).pipe(Effect.scoped)
  )

  it.effect("ends with its scope, its work first, and is listed and measured until then", () =>
    Effect.gen(function* () {
      const list = new WorkerList()
      const scope = yield* Scope.make()
      let hasEnded = false
      const isUp = yield* Deferred.make<void>()
      const work = Effect.onInterrupt(Effect.andThen(Deferred.succeed(isUp, undefined), Effect.never), () =>
        Effect.sync(() => {
          hasEnded = true
        })
      )
      yield* vitalWorker("mortal", work).pipe(Effect.provideService(Workers, list), Scope.provide(scope))
      yield* Deferred.await(isUp)
      const life = Metric.value(
        Metric.gauge("atoll_workers_up", {
          description: "Background workers that run, by name.",
          attributes: { worker: "mortal" }
        })
      )
      assert.strictEqual(Number((yield* life).value), 1)
      assert.deepInclude(named(list, "mortal"), { isVital: true, state: "up" })
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(hasEnded)
      assert.isUndefined(named(list, "mortal"))
      assert.strictEqual(Number((yield* life).value), 0)
    })
  )

  it.effect("that waits is not up: it says for what and since when, and past its bound the process is not ready", () =>
    Effect.gen(function* () {
      const list = new WorkerList()
      const key = yield* Deferred.make<void>()
      const isUp = Metric.value(
        Metric.gauge("atoll_workers_up", {
          description: "Background workers that run, by name.",
          attributes: { worker: "patient" }
        })
      )
      const waited = Metric.value(
        Metric.gauge("atoll_worker_waiting_seconds", {
          description:
            "How long a background worker has waited for a resource that it needs, by name; 0: it does not wait.",
          attributes: { worker: "patient" }
        })
      )
      const work = Effect.andThen(waitingFor("a key", Deferred.await(key), 5000), Effect.never)
      yield* worker("patient", work).pipe(Effect.provideService(Workers, list))
      assert.deepInclude(named(list, "patient"), { state: "starting", waiting: null })
      assert.isNull(obstacleOf(list.byName))
      yield* TestClock.adjust(5000)
      const since = "1970-01-01T00:00:00.000Z"
      assert.deepInclude(named(list, "patient"), {
        state: "waiting",
        waiting: { for: "a key", since, isOverdue: false }
      })
      assert.deepStrictEqual([Number((yield* isUp).value), Number((yield* waited).value)], [0, 5])
      assert.isNull(obstacleOf(list.byName))
      yield* TestClock.adjust(1)
      assert.strictEqual(named(list, "patient")?.waiting?.isOverdue, true)
      assert.strictEqual(obstacleOf(list.byName), `The worker "patient" has waited for a key since ${since}.`)
      yield* Deferred.succeed(key, undefined)
      while (named(list, "patient")?.state !== "up") yield* Effect.yieldNow
      assert.isNull(obstacleOf(list.byName))
      assert.deepStrictEqual([Number((yield* isUp).value), Number((yield* waited).value)], [1, 0])
    }).pipe(Effect.scoped)
  )

  it.effect("is shown by the worst state of those with its name", () =>
    Effect.gen(function* () {
      const list = new WorkerList()
      yield* worker("twin", Effect.never).pipe(Effect.provideService(Workers, list))
      yield* worker("twin", waitingFor("a key", Effect.never, 5000)).pipe(Effect.provideService(Workers, list))
      yield* worker("twin", Effect.never).pipe(Effect.provideService(Workers, list))
      yield* TestClock.adjust(6000)
      assert.strictEqual(list.byName.length, 1)
      assert.deepInclude(named(list, "twin"), { state: "waiting" })
      assert.strictEqual(named(list, "twin")?.waiting?.isOverdue, true)
      // A worker that ends while it waits no longer counts as waiting.
      const brief = Effect.andThen(Effect.raceFirst(waitingFor("a key", Effect.never), Effect.sleep(10)), Effect.never)
      yield* worker("brief", brief).pipe(Effect.provideService(Workers, list))
      yield* TestClock.adjust(10)
      assert.deepInclude(named(list, "brief"), { state: "up", waiting: null })
    }).pipe(Effect.scoped)
  )
})
