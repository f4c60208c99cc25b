/** A host may list what it likes: what is done about it is done for each, and the log bears it. */
import { assert, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { RuntimeUnavailable } from "../../src/runtime/Runtime.ts"
import { agreement } from "../../src/sandbox/HostAgreement.ts"

it.effect("ten thousand machines that nobody knows are destroyed, and named in few lines", () => {
  const lines: Array<string> = []
  const destroyed: Array<string> = []
  const inventory = Array.from({ length: 10_000 }, (_, i) => ({
    ...{ sandboxId: `sbx_${i}`, state: "running" as const, generation: 1 }
  }))
  const nothing = () => Effect.void
  const look = agreement({
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
