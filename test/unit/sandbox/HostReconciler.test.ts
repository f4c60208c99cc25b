/** What a reconciler's pass over a host's machines reports, and to whom. */
import { assert, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { reconcilerPass } from "../../../src/sandbox/HostReconciler.ts"

it.effect("the reconciler destroys ten thousand unknown machines, and names them in a few lines", () => {
  const lines: Array<string> = []
  const destroyed: Array<string> = []
  const inventory = Array.from({ length: 10_000 }, (_, i) => ({
    ...{ sandboxId: `sbx_${i}`, state: "running" as const, generation: 1 }
  }))
  const nothing = () => Effect.void
  const look = reconcilerPass({
    expected: Effect.succeed([]),
    inventory: Effect.succeed(inventory),
    find: () => Effect.succeed([]),
    stop: nothing,
    destroy: (sandboxId) =>
      destroyed.push(sandboxId) % 2 === 0 ? Effect.fail(new RuntimeUnavailable({ message: "Not now." })) : Effect.void,
    news: { down: nothing, found: nothing, asleep: nothing, stall: nothing },
    seenAt: Effect.succeed(null),
    toldUntil: nothing
  })
  return Effect.gen(function* () {
    const { isClean } = yield* look
    assert.isFalse(isClean)
    assert.strictEqual(destroyed.length, inventory.length)
    assert.isBelow(lines.length, 200)
    assert.include(lines[0], "sbx_0")
    assert.strictEqual(lines.at(-1), "Reconciled 9936 more")
  }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push([message].flat().join(" ")))])))
})

it.effect(
  "the reconciler names the revision that it compared: an owner that remembers an older one reloads the row",
  () => {
    const told: Array<ReadonlyArray<unknown>> = []
    const tell =
      (what: string) =>
      (...args: ReadonlyArray<unknown>) =>
        Effect.sync(() => void told.push([what, args[0], args.at(-1)]))
    const running = { status: "running", generation: 2, isBusy: false }
    const here = (sandboxId: string, state: "running" | "suspended") => ({ sandboxId, state, generation: 2 })
    const look = reconcilerPass({
      expected: Effect.succeed([
        { ...running, id: "sbx_gone", revision: 7 },
        { ...running, id: "sbx_frozen", revision: 8 }
      ]),
      inventory: Effect.succeed([here("sbx_frozen", "suspended"), here("sbx_stopped", "running")]),
      find: () =>
        Effect.succeed([
          { ...running, id: "sbx_frozen", revision: 8, isElsewhere: false },
          { id: "sbx_stopped", status: "stopped", revision: 9, isBusy: false, isElsewhere: false }
        ]),
      stop: () => Effect.void,
      destroy: () => Effect.void,
      news: { down: tell("down"), found: tell("found"), asleep: tell("asleep"), stall: () => Effect.void },
      seenAt: Effect.succeed(null),
      toldUntil: () => Effect.void
    })
    return Effect.gen(function* () {
      yield* look
      assert.deepStrictEqual(told, [
        ["found", "sbx_stopped", 9],
        ["down", "sbx_gone", 7],
        ["asleep", "sbx_frozen", 8]
      ])
    })
  }
)
