/** The image that a first boot needs: it waits until the Sandbox's snapshot is made, or says why there will be none. */
import { Effect } from "effect"
import { hasNeverRun, originOf } from "../../machines/sandbox.ts"
import { snapshotMachine, wasReady } from "../../machines/snapshot.ts"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { committedReason, type PublicText, publicText } from "../../schemas/PublicText.ts"
import type { ActorState } from "../engine/ActorDefinition.ts"
import type { ActorHost } from "../engine/ActorHost.ts"
import { awaitState } from "../engine/ActorWait.ts"
import { isTagged } from "../engine/taggedStates.ts"
import { RuntimeRefused } from "../runtime/Runtime.ts"
import type { Journal } from "../store/Journal.ts"

const isAwaited = isTagged(snapshotMachine, "awaited")
const isUsable = isTagged(snapshotMachine, "bootable")
const isRemoved = isTagged(snapshotMachine, "removed")
const isGone = isTagged(snapshotMachine, "gone")

/** Its captures may take long; each wait is asked again. */
const lookAgainMs = 60_000

const deleted = publicText`Its snapshot was deleted before it could boot.`

/** Why no image will come; null: the host has it. One that is being deleted stays on the host until all first boots are over. */
const lackOf = (snapshot: ActorState<SnapshotContext> | null): PublicText | null => {
  if (snapshot === null) return deleted
  const { value, context } = snapshot
  if (isUsable(value)) return null
  if (isRemoved(value)) return wasReady(context) && !isGone(value) ? null : deleted
  return context.statusReason === null
    ? publicText`Its snapshot has failed.`
    : publicText`Its snapshot has failed: ${committedReason(context.statusReason).message}`
}

export const bootImage = Effect.gen(function* () {
  const services = yield* Effect.context<ActorHost | Journal>()

  const made = (snapshotId: string) =>
    awaitState(snapshotMachine, snapshotId, ({ value }) => !isAwaited(value), lookAgainMs).pipe(
      Effect.repeat({ until: (state) => state === null || !isAwaited(state.value) }),
      Effect.provideContext(services)
    )

  /** After a stop before the first boot had ended, the host says whether the image is missing: the volume may be there already. */
  return (context: SandboxContext): Effect.Effect<void, RuntimeRefused> => {
    const snapshotId = originOf(context)
    if (snapshotId === null) return Effect.void
    return Effect.flatMap(made(snapshotId), (snapshot) => {
      const message = hasNeverRun(context) ? lackOf(snapshot) : null
      return message === null ? Effect.void : Effect.fail(new RuntimeRefused({ code: "SNAPSHOT_MISSING", message }))
    })
  }
})
