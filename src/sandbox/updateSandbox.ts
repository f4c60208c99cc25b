/** PATCH: changes name, metadata, env, sizes, lifetime and checkpoints of a Sandbox, all of them or none. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { ofThisVersion } from "../../machines/sandboxVersions.ts"
import type { Changeable } from "../../schemas/contexts/Sandbox.ts"
import { NotFound, ScopeRequired } from "../../schemas/Errors.ts"
import { OwnerAway } from "../engine/ActorError.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { Actors } from "../store/Actors.ts"
import { asked, refusals } from "./askSandbox.ts"
import { ownChange, type SentChange } from "./ownChange.ts"
import { ownSandbox, type SandboxRecord } from "./ownSandbox.ts"
import { resizeQuota } from "./resizeQuota.ts"
import { SandboxEnvs } from "./SandboxEnvs.ts"
import type { Sandboxes } from "./Sandboxes.ts"
import { recordView, sandboxView } from "./SandboxView.ts"
import { checkpointsOf, envAfter, lifetimeOf, metadataAfter } from "./sandboxChanges.ts"
import { sandboxResize } from "./sandboxResize.ts"
import { isGone } from "./sandboxStates.ts"

type Update = Sandboxes["Service"]["update"]

export const updateSandbox = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const envs = yield* SandboxEnvs
  const sql = yield* SqlClient.SqlClient
  const sizesAfter = yield* sandboxResize
  const withinRoom = yield* resizeQuota

  /** The state that this change led to, if it is the present one. Null: it was not committed; who came first is not known to the caller. */
  const committed = Effect.fnUntraced(function* (record: SandboxRecord, sent: SentChange) {
    const revision = yield* ownChange(sql, record, sent)
    if (revision === null) return null
    const now = yield* ownSandbox(actors, record.accountId, record.id)
    // It is done, and others have changed the Sandbox since: what it led to is not known any more.
    if (now.revision !== revision) return yield* Effect.die(new OwnerAway({ actorId: record.id }))
    return { value: now.status, context: now.context }
  })

  /** Null: another change was committed first. */
  const change = Effect.fnUntraced(function* (record: SandboxRecord, { request, requestId }: Parameters<Update>[2]) {
    const context = ofThisVersion(record.status, record.context)
    const { name, metadata, env, lifetime, checkpoints } = request
    const profile = yield* sizesAfter(record, context, request.profile)
    const before = context.env
    const variables =
      env === undefined ? null : yield* envAfter(yield* envs.read(record.id, before?.version ?? null), env)
    const kept = variables === null ? before : envs.name(variables)
    const changes: Partial<Changeable> = {
      ...(name === undefined ? {} : { name }),
      ...(metadata === undefined ? {} : { metadata: yield* metadataAfter(context, metadata) }),
      ...(variables === null ? {} : { env: kept }),
      ...(lifetime === undefined ? {} : { lifetime: lifetimeOf(context.lifetime, lifetime) }),
      ...(checkpoints === undefined ? {} : { checkpoints: checkpointsOf(context.checkpoints, checkpoints) }),
      ...(profile === null ? {} : { profile })
    }
    // The sizes that it has already.
    if (Object.keys(changes).length === 0) return { value: record.status, context }
    const isNew = variables !== null && kept !== null
    if (isNew) yield* envs.keep(record.id, kept, variables)
    const sent = { edition: context.edition, changes, requestId }
    const forgotten = isNew ? envs.forget(record.id, kept.version) : Effect.void
    const made = host
      .send(sandboxMachine, record.id, { type: "CHANGED", edition: context.edition, changes }, asked(record, requestId))
      .pipe(
        Effect.catchIf(
          (error) => error._tag === "EventRefused" && error.code === "STALE_CHANGE",
          () => Effect.tap(committed(record, sent), (done) => (done === null ? forgotten : Effect.void))
        ),
        Effect.catchTags(refusals)
      )
    const state = yield* Effect.tapError(profile === null ? made : withinRoom(context, profile, made), () => forgotten)
    if (state !== null && variables !== null && before !== null) yield* envs.forget(record.id, before.version)
    return state
  })

  const update: Update = Effect.fn("Sandboxes.update")(function* (accountId, sandboxId, options) {
    const { request, mayDelete } = options
    if (typeof request.lifetime?.deleteAfterStoppedSeconds === "number" && !mayDelete) {
      return yield* ScopeRequired.of("sandbox:delete")
    }
    while (true) {
      const record = yield* ownSandbox(actors, accountId, sandboxId)
      if (isGone(record.status)) return yield* new NotFound()
      if (Object.keys(request).length === 0) return recordView(record)
      const state = yield* change(record, options)
      if (state !== null) return sandboxView(state.value, state.context)
    }
  })
  return update
})
