/**
 * The image that is a Sandbox's root: read before the transaction of a create, and checked again within it.
 *
 * The transaction locks the image's row, after the account's. So a deletion of the image commits either before, and the create is refused, or
 * after, and the image stays on the hosts until the Sandbox is gone.
 */
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { imageMachine } from "../../machines/image.ts"
import type { ImageContext } from "../../schemas/contexts/Image.ts"
import type { SandboxImage } from "../../schemas/contexts/Sandbox.ts"
import { InvalidRequest, NotFound } from "../../schemas/Errors.ts"
import { ImageNotReady } from "../../schemas/ImageErrors.ts"
import type { CreateSandboxRequest } from "../../schemas/Sandbox.ts"
import { readActor } from "../engine/readActor.ts"
import { isTagged } from "../engine/taggedStates.ts"
import type { ImageSource, SandboxSpec } from "../runtime/Runtime.ts"
import { type ActorRecord, Actors, operatorAccount } from "../store/Actors.ts"
import { OperatorLogins } from "./OperatorLogins.ts"
import { SandboxEnvs } from "./SandboxEnvs.ts"

const isUsable = isTagged(imageMachine, "bootable")

/** The image as committed, also a deleted one; the operator's images are every account's. NotFound: another account's, or none. */
export const ownImage = (actors: Actors["Service"], accountId: string, imageId: string) =>
  Effect.flatMap(
    readActor(actors, imageMachine, imageId),
    (record): Effect.Effect<ActorRecord<ImageContext>, NotFound> =>
      record !== null && (record.accountId === accountId || record.accountId === operatorAccount)
        ? Effect.succeed(record)
        : Effect.fail(new NotFound())
  )

const bothGiven = new InvalidRequest({
  details: {
    issues: [{ path: ["imageId"], message: "Send snapshotId or imageId: a snapshot brings the image of its Sandbox." }]
  }
})

const notReady = (status: string) => new ImageNotReady({ details: { status } })

/** Name and password for the registry: the account's, unsealed, or for an image of the operator those of the operator. */
export const imageCredentials = Effect.gen(function* () {
  const envs = yield* SandboxEnvs
  const operatorLogins = yield* OperatorLogins
  return ({ imageId, accountId, reference, credentials }: ImageContext) => {
    if (accountId === operatorAccount && reference !== null) return operatorLogins.of(reference)
    return credentials === null
      ? Effect.succeed(null)
      : Effect.map(envs.read(imageId, credentials.version), ({ username, password }): ImageSource["credentials"] =>
          username === undefined || password === undefined
            ? null
            : { username, password: Redacted.make(password, { label: "registry password" }) }
        )
  }
})

/** The image as the host of a Sandbox gets it. */
export const imageOfSpec = Effect.gen(function* () {
  const actors = yield* Actors
  const credentialsOf = yield* imageCredentials
  return Effect.fnUntraced(function* (image: SandboxImage | null) {
    if (image === null) return {}
    const { imageId, reference, digest } = image
    const record = yield* readActor(actors, imageMachine, imageId)
    const credentials = record === null ? null : yield* credentialsOf(record.context)
    return { image: { reference, digest, credentials } } satisfies Pick<SandboxSpec, "image">
  })
})

export const sandboxImage = Effect.gen(function* () {
  const actors = yield* Actors
  const envs = yield* SandboxEnvs
  const sql = yield* SqlClient.SqlClient

  return {
    /** Null: the root is the host's own, or that of the snapshot's Sandbox. */
    read: Effect.fnUntraced(function* (
      accountId: string,
      { imageId, snapshotId }: Pick<CreateSandboxRequest, "imageId" | "snapshotId">
    ) {
      if (imageId == null) return null
      if (snapshotId != null) return yield* bothGiven
      const { status, context } = yield* ownImage(actors, accountId, imageId)
      const { reference, digest, env } = context
      if (digest === null || !isUsable(status)) return yield* notReady(status)
      return {
        image: { imageId, reference: reference ?? digest, digest } satisfies SandboxImage,
        env: yield* envs.read(imageId, env?.version ?? null)
      }
    }),

    lock: Effect.fnUntraced(function* ({ imageId }: SandboxImage) {
      const [row] = yield* sql<{ readonly status: string }>`select status from actors where id = ${imageId} for share`
      if (row === undefined) return yield* new NotFound()
      if (!isUsable(row.status)) return yield* notReady(row.status)
    })
  }
})

export type OfImage = NonNullable<Effect.Success<ReturnType<Effect.Success<typeof sandboxImage>["read"]>>>
