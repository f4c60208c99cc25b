/** How the commands of a preview are done. */
import { Effect, Schedule, Schema } from "effect"
import { type PreviewContext, previewMachine } from "../../machines/preview.ts"
import { Reason } from "../../schemas/Sandbox.ts"
import type { ActorDefinition, AnyEvent, CommandScope } from "../actor/ActorDefinition.ts"
import { LiveConnections } from "../gateway/LiveConnections.ts"
import { SandboxReach } from "../gateway/SandboxReach.ts"
import type { PendingCommand } from "../store/JournalRecord.ts"

/** A guest that does not confirm now may later, or its boot ends. */
const askAgain = Schedule.min([Schedule.exponential(100), Schedule.spaced(5000)])

/** A context as it is stored: held against what is loaded. */
const context = Schema.Struct({
  previewSha256: Schema.String,
  accountId: Schema.String,
  sandboxId: Schema.String,
  generation: Schema.Number,
  port: Schema.Number,
  createdAt: Schema.Number,
  expiresAt: Schema.Number,
  endedAt: Schema.NullOr(Schema.Number),
  reason: Schema.NullOr(Reason)
})

/** @param forget Told as soon as a host name is dead in this process. */
export const previewDefinition = Effect.fnUntraced(function* (forget: (actorId: string) => void) {
  const connections = yield* LiveConnections
  const reach = yield* SandboxReach

  const openTunnel = (context: PreviewContext): Effect.Effect<AnyEvent> =>
    Effect.map(reach.obstacle(context), (reason) =>
      reason === null ? { type: "TUNNEL_OPEN" } : { type: "TUNNEL_REFUSED", reason }
    )

  const closeTunnel = (context: PreviewContext, actorId: string): Effect.Effect<AnyEvent> =>
    Effect.sync(() => {
      forget(actorId)
      connections.cut(actorId)
    }).pipe(
      Effect.andThen(reach.hasSettled(context)),
      Effect.flatMap((settled) => (settled ? Effect.void : Effect.fail("unsettled"))),
      Effect.retry(askAgain),
      Effect.orDie,
      Effect.as({ type: "TUNNEL_CLOSED" })
    )

  const interpret = (command: PendingCommand, scope: CommandScope<PreviewContext>): Effect.Effect<AnyEvent | null> => {
    const { id, context } = scope.state()
    switch (command.type) {
      case "openTunnel":
        return openTunnel(context)
      case "closeTunnel":
        return closeTunnel(context, id)
      default:
        return Effect.die(new Error(`Unknown command ${command.type} of a preview.`))
    }
  }

  const definition: ActorDefinition<PreviewContext> = {
    kind: "preview",
    version: Number(previewMachine.version),
    machine: previewMachine,
    context,
    // Closing takes over from opening.
    lane: () => "tunnel",
    interpret
  }
  return definition
})
