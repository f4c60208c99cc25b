/** Pull, or build of a Dockerfile: one image for each Idempotency-Key, within the account's limits. */
import { Clock, Effect } from "effect"
import { ActorHost } from "../engine/ActorHost.ts"
import { newId } from "../platform/identifier/newId.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { sealedSecrets } from "./build/BuildSecrets.ts"
import { begunImage } from "./build/begunImage.ts"
import { buildSandbox } from "./build/buildSandbox.ts"
import type { AskedImage } from "./Images.ts"
import { imageKeys, keyOf } from "./imageKeys.ts"
import { insertImage } from "./insertImage.ts"

const kind = "image.pull"

/** Null: the registry is asked without. */
const credentialsIn = ({ username, password }: AskedImage["request"]) =>
  username === null || password === null ? {} : { username, password }

/** What is sealed with an image that is built. */
const secretsIn = ({ dockerfile, buildArgs, registry, username, password }: AskedImage["request"]) =>
  sealedSecrets({
    dockerfile,
    args: buildArgs ?? {},
    login: registry === null || username === null || password === null ? null : { registry, username, password }
  })

export const createImage = Effect.gen(function* () {
  const host = yield* ActorHost
  const envs = yield* SandboxEnvs
  const { replay, isFree } = yield* imageKeys(kind)
  const builders = yield* buildSandbox
  const insert = yield* insertImage
  const begun = yield* begunImage

  /** @param sandboxId Of the build; null: it is pulled. */
  const claim = Effect.fnUntraced(function* (
    asked: AskedImage,
    key: string,
    imageId: string,
    sandboxId: string | null
  ) {
    const { accountId, fingerprint, request } = asked
    const { name, reference, target } = request
    const at = yield* Clock.currentTimeMillis
    const secret = sandboxId === null ? credentialsIn(request) : secretsIn(request)
    const credentials = envs.name(secret)
    const build = sandboxId === null ? null : { sandboxId, operationId: null, dockerfile: null, target, isOver: false }
    const input = { imageId, accountId, name, reference, credentials, build, at }
    return yield* insert(asked, { kind, key, fingerprint }, input, secret)
  })

  const inserted = Effect.fnUntraced(function* (asked: AskedImage, key: string) {
    const { accountId, requestId, request } = asked
    const imageId = newId("img_")
    if (request.dockerfile === null) return yield* claim(asked, key, imageId, null)
    yield* builders.requireHost
    // Before anything is made.
    if (!(yield* isFree(accountId, key))) return null
    const { name, workspaceId, contextSnapshotId: snapshotId, profile } = request
    const { id } = yield* builders.create({ accountId, requestId, imageId, name, workspaceId, snapshotId, profile })
    const left = builders.leave(accountId, imageId, id)
    const made = yield* claim(asked, key, imageId, id).pipe(Effect.onError(() => left))
    if (made === null) yield* left
    return made
  })

  /** The image as it was accepted; of a repeated key, as it is now. */
  return Effect.fnUntraced(function* (asked: AskedImage) {
    const key = keyOf(asked)
    const { accountId, fingerprint } = asked
    const replayed = yield* replay(accountId, key, fingerprint)
    if (replayed !== null) return replayed
    const made = yield* Effect.uninterruptible(inserted(asked, key))
    if (made === null) return (yield* replay(accountId, key, fingerprint))!
    yield* host.adopt(made)
    return yield* begun(made)
  })
})
