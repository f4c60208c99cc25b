/** An open connection to an agent that has not carried a request yet, as after a Sandbox has come up. */
import { duplexPair } from "node:stream"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeServer } from "../../../../src/agent/server.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { distantRuntime } from "../../../../src/runtime/distant/distantRuntime.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { eventually } from "../../../support/runtime/contract/commands.ts"
import { hostId, peers, served } from "../../../support/runtime/distant/TestDistant.ts"

it.live("a request skips an unused connection that its host has ended, and uses the next one", () =>
  Effect.gen(function* () {
    const agent = makeServer({})
    const connections: Array<{ readonly end: () => void; hasEnded: boolean }> = []
    const near = Runtime.of({
      ...simulatedRuntime(yield* SimulatedWorld.make),
      connect: () =>
        Effect.sync(() => {
          const [one, other] = duplexPair()
          // Destroyed, neither end tells the other.
          one.once("close", () => other.destroy())
          other.on("error", () => {}).once("close", () => one.destroy())
          const connection = { end: () => one.destroy(), hasEnded: false }
          connections.push(connection)
          other.once("close", () => (connection.hasEnded = true))
          agent.emit("connection", other)
          return one
        })
    })
    const far = yield* distantRuntime(hostId, yield* served(near))
    for (let ended = 0; ended < 4; ended++) {
      yield* far.guest("sandbox", 1)
      expect(connections.length).toBe(ended + 1)
      // As when a machine falls asleep.
      connections[ended]!.end()
      yield* eventually(Effect.sync(() => connections[ended]!.hasEnded))
      yield* Effect.sleep("50 millis")
    }
    const guest = yield* far.guest("sandbox", 1)
    // The refusal of that port is its agent's answer.
    expect(yield* Effect.flip(Effect.scoped(guest.dial(9)))).toMatchObject({ _tag: "PortClosed" })
    expect(connections.length).toBe(5)
  }).pipe(Effect.scoped, Effect.provide(peers))
)
