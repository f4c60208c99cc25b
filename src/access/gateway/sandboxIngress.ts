/**
 * The common part of previews, service accesses and connection grants (ingress into a Sandbox). Each is an actor that
 * is stored before its Sandbox is checked, and ends with its Sandbox, at its expiry, or at a client's request.
 */

import { Clock, Effect } from "effect"
import type { connectionGrantMachine } from "../../../machines/connectionGrant.ts"
import { lastsAt } from "../../../machines/expiry.ts"
import type { previewMachine } from "../../../machines/preview.ts"
import type { serviceAccessMachine } from "../../../machines/serviceAccess.ts"
import { NotFound } from "../../../schemas/Errors.ts"
import type { Settings } from "../../Config.ts"
import type { ActorDefinition } from "../../engine/ActorDefinition.ts"
import { ActorHost } from "../../engine/ActorHost.ts"
import { awaitState } from "../../engine/ActorWait.ts"
import type { ContextOf, EventOf } from "../../engine/machineTypes.ts"
import { readActor } from "../../engine/readActor.ts"
import { isTagged, taggedStates } from "../../engine/taggedStates.ts"
import { Dependents } from "../../sandbox/Dependents.ts"
import { ownLivingSandbox } from "../../sandbox/ownSandbox.ts"
import { runningSandbox } from "../../sandbox/RunningSandbox.ts"
import { type ActorRecord, Actors } from "../../store/Actors.ts"
import type { Journal } from "../../store/Journal.ts"

const openAnswerMs = 10_000

type IngressMachine = typeof previewMachine | typeof serviceAccessMachine | typeof connectionGrantMachine

/** Registers a kind with the actor host and with the Sandboxes it leads to. */
export const sandboxIngress = Effect.fnUntraced(function* <M extends IngressMachine, P = unknown>(
  definition: ActorDefinition<M>
) {
  const { machine } = definition
  const host = yield* ActorHost
  const actors = yield* Actors
  const dependents = yield* Dependents
  const services = yield* Effect.context<ActorHost | Actors | Journal | Settings>()
  const openStates = taggedStates(machine, "open")
  const usableStates = taggedStates(machine, "usable")
  const isConfirming = isTagged(machine, "confirming")
  yield* host.register(definition)
  yield* dependents.register({ machine, openStates, event: (reason) => ({ type: "SANDBOX_ENDED", reason }) })

  const wait = (actorId: string, isReached: (status: string) => boolean, timeoutMs: number) =>
    awaitState(machine, actorId, ({ value }) => isReached(value), timeoutMs).pipe(Effect.provideContext(services))

  return {
    /** States in which it waits for its end. */
    openStates,

    /** NotFound: another account's, a deleted one, or none. */
    ownSandbox: (accountId: string, sandboxId: string) => ownLivingSandbox(actors, accountId, sandboxId),

    /** The Sandbox's present boot; a sleeping one wakes. */
    running: (accountId: string, sandboxId: string) =>
      runningSandbox(accountId, sandboxId).pipe(Effect.provideContext(services)),

    /** The committed actor. Null: no actor, or one of another kind. */
    find: (actorId: string) =>
      Effect.map(readActor(actors, machine, actorId), (record) => record as ActorRecord<ContextOf<M>, P> | null),

    /** Whether it admits connections now. */
    isUsable: (status: string, context: ContextOf<M>) =>
      Effect.map(Clock.currentTimeMillis, (now) => usableStates.includes(status) && lastsAt(context, now)),

    /** Its state once its Sandbox has been looked at, or still the first one after 10 s. */
    opened: (actorId: string) => wait(actorId, (status) => !isConfirming(status), openAnswerMs),

    wait,

    /** Commits its end for a client, whether or not its owner answers. */
    end: (actorId: string, event: EventOf<M>, requestId: string) =>
      host.takeOverWrite(machine, actorId, event, { cause: "client", requestId }).pipe(
        Effect.catchTags({
          EventRefused: Effect.die,
          ActorNotFound: () => Effect.fail(new NotFound())
        })
      )
  }
})
