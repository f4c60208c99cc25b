import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Metric, Ref, Scope } from "effect"
import { TestClock } from "effect/testing"
import { vitalWorker, WorkerList, Workers, worker } from "../../src/worker/Worker.ts"

describe("a worker", () => {
  const named = (list: WorkerList, name: string) => list.byName.find((one) => one.name === name)

  const endings: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown>, string]> = [
    ["an error", Effect.fail(new RangeError("secret")), "RangeError"],
    ["a defect", Effect.die({ _tag: "Odd", text: "secret" }), "Odd"],
    ["an interruption from within", Effect.interrupt, "Interrupted"],
    ["its own return", Effect.void, "Returned"]
  ]
  for (const [what, ending, fault] of endings) {
    it.effect(`is started again after ${what}, and says so without its words`, () =>
      Effect.gen(function* () {
        const list = new WorkerList()
        const runs = yield* Ref.make(0)
        const isBack = yield* Deferred.make<void>()
        const work = Effect.flatMap(
          Ref.updateAndGet(runs, (count) => count + 1),
          (count) => (count === 1 ? ending : Effect.andThen(Deferred.succeed(isBack, undefined), Effect.never))
        )
        yield* worker("diligent", work).pipe(Effect.provideService(Workers, list))
        while (named(list, "diligent")?.state !== "restarting") yield* Effect.yieldNow
        assert.deepStrictEqual(named(list, "diligent"), {
          name: "diligent",
          isVital: false,
          state: "restarting",
          restarts: 1,
          lastFault: fault
        })
        yield* TestClock.adjust("100 millis")
        yield* Deferred.await(isBack)
        assert.deepInclude(named(list, "diligent"), { state: "up", restarts: 1 })
      }).pipe(Effect.scoped)
    )
  }

  it.effect("is tried at ever longer intervals, and at short ones again once it went well for a while", () =>
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
})
