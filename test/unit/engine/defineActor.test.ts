/** A definition and its senders may use only what the machine has: the compiler refuses the rest (`npm run check`). */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { previewMachine } from "../../../machines/preview.ts"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { PreviewContext } from "../../../schemas/contexts/Preview.ts"
import type { ActorHost } from "../../../src/engine/ActorHost.ts"
import { defineActor } from "../../../src/engine/defineActor.ts"

const openTunnel = { lane: "tunnel", run: () => Effect.succeed(null) }
const closeTunnel = { lane: "tunnel", run: () => Effect.succeed({ type: "TUNNEL_CLOSED" as const }) }

/** Never called: each line with a directive must not compile. */
const refused = (host: ActorHost["Service"]) => [
  // @ts-expect-error A command of the machine has no handler.
  defineActor(previewMachine, { context: PreviewContext, commands: { openTunnel } }),
  // @ts-expect-error The machine has no such command.
  defineActor(previewMachine, { context: PreviewContext, commands: { openTunnel, closeTunnel, dig: openTunnel } }),
  defineActor(previewMachine, {
    context: PreviewContext,
    // @ts-expect-error The machine has no such event.
    commands: { openTunnel, closeTunnel: { lane: null, run: () => Effect.succeed({ type: "TUNNEL_SHUT" as const }) } }
  }),
  // @ts-expect-error The machine has no such event.
  host.send(sandboxMachine, "sbx_1", { type: "STRAT" }, { cause: "test" }),
  // @ts-expect-error The event has a field of another type.
  host.send(sandboxMachine, "sbx_1", { type: "RUNTIME_UP", generation: "1" }, { cause: "test" }),
  // @ts-expect-error A field of the event is missing.
  host.send(sandboxMachine, "sbx_1", { type: "RUNTIME_UP" }, { cause: "test" })
]

it("the compiler refuses what the machine does not have", () => assert.isFunction(refused))

it("a definition takes kind and version from the machine, and keeps each command's lane", () => {
  const definition = defineActor(previewMachine, { context: PreviewContext, commands: { openTunnel, closeTunnel } })
  assert.deepStrictEqual([definition.kind, definition.version], ["preview", Number(previewMachine.version)])
  assert.deepStrictEqual(
    Object.entries(definition.commands).map(([name, { lane }]) => [name, lane]),
    [
      ["openTunnel", "tunnel"],
      ["closeTunnel", "tunnel"]
    ]
  )
})
