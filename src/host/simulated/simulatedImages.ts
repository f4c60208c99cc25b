/**
 * The images of the simulated runtime. A reference says by its repository what comes of it: `missing`, `private` (without a password),
 * `large`, `foreign`, `broken`, `crowded` and `forbidden` are refused, `flaky` fails, `stalled` never ends; every other works.
 */
import { createHash } from "node:crypto"
import { Clock, Effect, Redacted } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { type ImageSource, type Images, RuntimeRefused, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { onlyUnavailable } from "./onlyUnavailable.ts"
import type { SimulatedWorld } from "./SimulatedWorld.ts"

/** The size of every simulated image. */
const sizeBytes = 8 * 1024 * 1024

/** The service inserts the image meanwhile. */
const recentMs = 600_000

const refusals: Readonly<Record<string, RuntimeRefused["code"]>> = {
  missing: "IMAGE_NOT_FOUND",
  large: "IMAGE_TOO_LARGE",
  foreign: "IMAGE_UNSUPPORTED",
  broken: "IMAGE_INVALID",
  crowded: "IMAGE_NO_ROOM",
  forbidden: "IMAGE_ADDRESS_FORBIDDEN"
}

const refused = (code: RuntimeRefused["code"]) =>
  new RuntimeRefused({ code, message: publicText`The simulated registry refuses the image.` })

/** `host/REPOSITORY:tag@digest`, and of `host/REPOSITORY/more:tag` the first part. */
const repositoryOf = (reference: string): string => /^[^/]+\/([^/:@]+)/.exec(reference)?.[1] ?? ""

/** The same reference has always the same image. */
export const simulatedDigest = (reference: string): string =>
  `sha256:${createHash("sha256").update(reference.replace(/@.*/, "")).digest("hex")}`

const passwordOf = ({ credentials }: ImageSource) =>
  credentials === null ? null : Redacted.value(credentials.password)

/** Its digest stands for the content of an image. */
async function* contentOf(digest: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(digest)
}

export const simulatedImages = (world: SimulatedWorld): Images => ({
  pull: Effect.fnUntraced(function* (source) {
    yield* world.intercept("pullImage", source.reference)
    // One that was uploaded has no registry.
    if (source.reference.startsWith("sha256:")) return yield* refused("IMAGE_NOT_FOUND")
    const repository = repositoryOf(source.reference)
    const code = refusals[repository]
    if (code !== undefined) return yield* refused(code)
    if (repository === "private" && passwordOf(source) === null) return yield* refused("IMAGE_UNAUTHORIZED")
    if (repository === "flaky") return yield* new RuntimeUnavailable({ message: "The simulated registry fails." })
    if (repository === "stalled") return yield* Effect.never
    const digest = source.digest ?? simulatedDigest(source.reference)
    world.images.add(digest)
    return {
      digest,
      sizeBytes,
      storedBytes: world.storedBytes,
      config: { env: { PATH: "/usr/bin:/bin", IMAGE_REFERENCE: source.reference }, workingDir: "/app" }
    }
  }),
  /** Reads it whole: its digest stands for that of its manifest. */
  receive: Effect.fnUntraced(function* (imageId, pieces) {
    yield* world.intercept("receiveImage", imageId)
    const hash = createHash("sha256")
    yield* Effect.tryPromise({
      try: async () => {
        for await (const piece of pieces) hash.update(piece)
      },
      catch: (cause) => new RuntimeUnavailable({ message: String(cause) })
    })
    world.uploads.set(imageId, { digest: `sha256:${hash.digest("hex")}`, at: yield* Clock.currentTimeMillis })
  }),
  accept: Effect.fnUntraced(function* (imageId) {
    yield* world.intercept("acceptImage", imageId)
    const digest = world.uploads.get(imageId)?.digest
    if (digest === undefined) return yield* refused("IMAGE_NOT_FOUND")
    world.images.add(digest)
    return {
      digest,
      sizeBytes,
      storedBytes: world.storedBytes,
      config: { env: { PATH: "/usr/bin:/bin" }, workingDir: null }
    }
  }),
  discard: (imageId) => Effect.sync(() => void world.uploads.delete(imageId)),
  uploads: Effect.map(Clock.currentTimeMillis, (now) =>
    [...world.uploads].filter(([, { at }]) => now - at > recentMs).map(([imageId]) => imageId)
  ),
  read: Effect.fnUntraced(function* (digest) {
    yield* world.intercept("readImage", digest)
    if (!world.images.has(digest)) return yield* refused("IMAGE_NOT_FOUND")
    return contentOf(digest)
  }),
  store: Effect.fnUntraced(function* (digest, pieces) {
    yield* world.intercept("storeImage", digest)
    if (world.images.has(digest)) return
    const content = yield* Effect.tryPromise({
      try: async () => {
        const all: Array<Uint8Array> = []
        for await (const piece of pieces) all.push(piece)
        return Buffer.concat(all).toString()
      },
      catch: (cause) => new RuntimeUnavailable({ message: String(cause) })
    })
    if (content !== digest) return yield* refused("IMAGE_INVALID")
    world.images.add(digest)
  }),
  remove: (digest) =>
    world
      .intercept("removeImage", digest)
      .pipe(Effect.mapError(onlyUnavailable), Effect.andThen(Effect.sync(() => void world.images.delete(digest)))),
  inventory: Effect.suspend(() => world.intercept("inventory", "")).pipe(
    Effect.mapError(onlyUnavailable),
    Effect.map(() => [...world.images])
  ),
  isAble: Effect.sync(() => world.runsImages),
  buildObstacle: Effect.sync(() => world.buildObstacle)
})
