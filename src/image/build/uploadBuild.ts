/**
 * A build with its context: the archive goes into the build's Sandbox as it comes, and the image is inserted once all of it is there. The Sandbox of one
 * that breaks off, or that is refused, is deleted; of one whose service ends meanwhile, by the reconciler (`BuildWatch.ts`).
 */
import { Readable } from "node:stream"
import { Clock, Effect } from "effect"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { InvalidRequest, SandboxUnavailable } from "../../../schemas/Errors.ts"
import { Settings } from "../../Config.ts"
import { ActorHost } from "../../engine/ActorHost.ts"
import { awaitState } from "../../engine/ActorWait.ts"
import { Files } from "../../files/Files.ts"
import { newId } from "../../platform/identifier/newId.ts"
import { BuildLeases } from "../../sandbox/BuildLeases.ts"
import { SandboxEnvs } from "../../sandbox/SandboxEnvs.ts"
import { notStartingStates } from "../../sandbox/sandboxStates.ts"
import type { Journal } from "../../store/Journal.ts"
import type { AskedBuild, BuildRefused } from "../Images.ts"
import { imageKeys, keyOf } from "../imageKeys.ts"
import { insertImage } from "../insertImage.ts"
import { cutOff, UploadedBody } from "../UploadedBody.ts"
import { uploadPermit } from "../uploadPermit.ts"
import { sealedSecrets } from "./BuildSecrets.ts"
import { begunImage } from "./begunImage.ts"
import { buildSandbox } from "./buildSandbox.ts"

const kind = "image.build"
const workspace = "/workspace"

const noDockerfile = (path: string) =>
  new InvalidRequest({
    details: {
      issues: [{ path: ["dockerfile"], message: `The archive has no file ${path}. Send its path in the archive.` }]
    }
  })

/** Puts the context into a Sandbox that boots. */
const contextUpload = Effect.gen(function* () {
  const files = yield* Files
  const { bootTimeoutMs } = yield* Settings
  const services = yield* Effect.context<ActorHost | Journal>()

  const unavailable = (sandboxId: string) => (error: { readonly message: string }) =>
    Effect.andThen(
      Effect.logWarning(`The context of the build in ${sandboxId} could not be stored`, error.message),
      Effect.fail(new SandboxUnavailable({ details: { status: null } }))
    )

  return Effect.fnUntraced(function* (asked: AskedBuild, body: UploadedBody, sandboxId: string) {
    const { accountId, encoding, dockerfile } = asked
    yield* awaitState(sandboxMachine, sandboxId, ({ value }) => notStartingStates.includes(value), bootTimeoutMs).pipe(
      Effect.provideContext(services)
    )
    const lost = unavailable(sandboxId)
    const at = { accountId, exhaustedAt: null, sandboxId }
    const bytes = Readable.from(body.read(), { objectMode: false })
    yield* files.unpack({ ...at, path: workspace }, { bytes, broken: () => cutOff }, encoding).pipe(
      Effect.catchTags({
        INVALID_PATH: lost,
        NOT_FOUND: lost,
        NOT_A_DIRECTORY: lost,
        RUNTIME_UNAVAILABLE: lost
      }),
      Effect.catch((error) => Effect.fail(body.broke ? cutOff : error)),
      Effect.ensuring(Effect.sync(() => bytes.destroy()))
    )
    const { type } = yield* files.stat({ ...at, path: `${workspace}/${dockerfile}` }).pipe(
      Effect.catchTags({
        INVALID_PATH: () => Effect.fail(noDockerfile(dockerfile)),
        NOT_FOUND: () => Effect.fail(noDockerfile(dockerfile)),
        NOT_A_DIRECTORY: () => Effect.fail(noDockerfile(dockerfile)),
        RUNTIME_UNAVAILABLE: lost
      })
    )
    if (type === "directory") return yield* noDockerfile(dockerfile)
  })
})

export const uploadBuild = Effect.gen(function* () {
  const host = yield* ActorHost
  const envs = yield* SandboxEnvs
  const { imageBytesMax } = yield* Settings
  const { replay, isFree } = yield* imageKeys(kind)
  const insert = yield* insertImage
  const admitted = yield* uploadPermit
  const builders = yield* buildSandbox
  const begun = yield* begunImage
  const put = yield* contextUpload
  const leases = yield* BuildLeases

  /** Null: another request has taken the key. */
  const made = Effect.fnUntraced(function* (asked: AskedBuild, body: UploadedBody, key: string) {
    const { accountId, requestId, name, workspaceId, dockerfile, target, args } = asked
    const imageId = newId("img_")
    const wanted = { accountId, requestId, imageId, name, workspaceId, snapshotId: null, profile: null }
    const { id: sandboxId } = yield* builders.create(wanted)
    const left = builders.leave(accountId, imageId, sandboxId)
    return yield* Effect.gen(function* () {
      yield* leases.during(sandboxId, put(asked, body, sandboxId))
      const secret = sealedSecrets({ dockerfile: null, args, login: null })
      const build = { sandboxId, operationId: null, dockerfile, target, isOver: false }
      const at = yield* Clock.currentTimeMillis
      const input = { imageId, accountId, name, reference: null, credentials: envs.name(secret), build, at }
      const inserted = yield* insert(asked, { kind, key, fingerprint: fingerprintOf(asked, body) }, input, secret)
      if (inserted === null) yield* left
      return inserted
    }).pipe(Effect.onError(() => left))
  })

  /** The image as it was accepted; of a repeated key, as it is now. */
  return Effect.fnUntraced(
    function* (asked: AskedBuild) {
      const { accountId } = asked
      yield* admitted(accountId)
      const key = keyOf(asked)
      const body = new UploadedBody(asked.body)
      // Before anything is read or made.
      if (!(yield* isFree(accountId, key))) {
        yield* body.skip(imageBytesMax)
        return (yield* replay(accountId, key, fingerprintOf(asked, body)))!
      }
      const inserted = yield* made(asked, body, key)
      if (inserted === null) return (yield* replay(accountId, key, fingerprintOf(asked, body)))!
      yield* host.adopt(inserted)
      return yield* begun(inserted)
    },
    Effect.scoped,
    Effect.uninterruptible
  ) satisfies (asked: AskedBuild) => Effect.Effect<unknown, BuildRefused>
})

const fingerprintOf = ({ name, dockerfile, target, args, workspaceId, encoding }: AskedBuild, body: UploadedBody) =>
  body.fingerprint([name, dockerfile, target, args, workspaceId, encoding])
