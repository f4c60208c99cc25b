/** How long a grant whose seconds are over waits for its connections. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { LiveConnections } from "../../../../src/access/gateway/LiveConnections.ts"
import { SandboxReach } from "../../../../src/access/gateway/SandboxReach.ts"
import { grantDefinition } from "../../../../src/access/ssh/GrantDefinition.ts"
import type { CommandScope } from "../../../../src/engine/ActorDefinition.ts"
import { testSettings } from "../../../support/TestSettings.ts"

const context = { accountId: "acc_1", sandboxId: "sbx_1", generation: 3 }

/** What the command has answered after each of three looks. */
const answers = Effect.fnUntraced(function* (
  settings: Readonly<Record<string, string>>,
  world: { connections: number; isOver: boolean }
) {
  const { commands } = yield* grantDefinition.pipe(
    Effect.provide([
      Layer.succeed(LiveConnections, { countOf: () => world.connections } as never),
      Layer.mock(SandboxReach)({
        isOver: (boot) => {
          assert.deepStrictEqual(boot, context as never)
          return Effect.succeed(world.isOver)
        }
      }),
      testSettings(settings)
    ])
  )
  const scope = { state: () => ({ id: "grant_1", context }) } as unknown as CommandScope
  return yield* Effect.forkChild(commands["holdConnections"]!.run(scope, undefined))
})

const fleet = { ATOLL_CLUSTER_PORT: "1" }
const passed = TestClock.adjust("5 seconds")

describe("a grant whose seconds are over", () => {
  it.effect("waits for its connections", () =>
    Effect.gen(function* () {
      const world = { connections: 1, isOver: false }
      const waiting = yield* answers({}, world)
      yield* passed
      assert.isUndefined(waiting.pollUnsafe())
      world.connections = 0
      yield* passed
      assert.deepStrictEqual(yield* Fiber.join(waiting), { type: "CONNECTIONS_OVER" } as never)
    })
  )

  it.effect("waits for its Sandbox where another process may carry connections", () =>
    Effect.gen(function* () {
      const world = { connections: 0, isOver: false }
      const waiting = yield* answers(fleet, world)
      yield* passed
      assert.isUndefined(waiting.pollUnsafe())
      world.isOver = true
      yield* passed
      assert.deepStrictEqual(yield* Fiber.join(waiting), { type: "CONNECTIONS_OVER" } as never)
    })
  )
})
