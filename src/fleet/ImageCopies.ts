/**
 * Brings an uploaded image, which no registry has, to another host: for the boot of a Sandbox there, and from a host that is drained. The bytes pass through
 * this service, from a host that has them to the other, no faster than both go. The copy stays, as a further place of the image.
 *
 * A host that says that it has lost an image keeps its row: the next comparison with its inventory removes it, and tells the image where no other host has it.
 */
import { Context, Effect, Layer, Result, Schedule, Semaphore } from "effect"
import { publicText } from "../../schemas/PublicText.ts"
import { lockByKey } from "../platform/concurrency/lockByKey.ts"
import { RuntimeRefused, RuntimeUnavailable, type SandboxSpec } from "../runtime/Runtime.ts"
import { HostLinks } from "./HostLinks.ts"
import { imagesOnHosts } from "./imagesOnHosts.ts"

/** Each takes mebibytes of memory, and the links of two hosts. */
const parallelMax = 4
/** A connection that breaks is begun again. */
const again = Schedule.exponential("250 millis")
const triesMore = 3

const nowhere = () =>
  new RuntimeRefused({
    code: "IMAGE_NOT_FOUND",
    message: publicText`No host has the image any more. It was uploaded, so there is no registry to pull it from: upload it again.`
  })

const sourceAway = RuntimeUnavailable.known(
  publicText`The host that has the uploaded image does not answer now. Try again later.`
)

type Fault = RuntimeRefused | RuntimeUnavailable

/** Passes the pieces on, and keeps why they broke off. */
const watched = (pieces: AsyncIterable<Uint8Array>) => {
  let fault: unknown = null
  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      yield* pieces
    } catch (cause) {
      fault = cause
      throw cause
    }
  }
  return { pieces: read(), fault: () => fault }
}

const isGone = (cause: unknown) => cause instanceof RuntimeRefused && cause.code === "IMAGE_NOT_FOUND"

const make = Effect.gen(function* () {
  const links = yield* HostLinks
  const rows = yield* imagesOnHosts
  const lock = yield* lockByKey
  const scope = yield* Effect.scope
  const travelling = Semaphore.makeUnsafe(parallelMax)

  const imagesAt = (hostId: string) => Effect.map(links.to(hostId), ({ images }) => images)

  /** Null: it is there. Otherwise why the source did not give it. */
  const from = Effect.fnUntraced(function* (source: string, digest: string, hostId: string) {
    const read = yield* imagesAt(source).pipe(
      Effect.flatMap((images) => images.read(digest)),
      Effect.result
    )
    if (Result.isFailure(read)) return read.failure
    const { pieces, fault } = watched(read.success)
    const to = yield* imagesAt(hostId)
    const stored = yield* Effect.result(to.store(digest, pieces))
    if (Result.isSuccess(stored)) return null
    return fault() ?? (yield* stored.failure)
  })

  const travel = Effect.fnUntraced(function* (digest: string, hostId: string): Effect.fn.Return<void, Fault> {
    let isAway = false
    for (const source of yield* rows.sources(digest)) {
      if (source === hostId) continue
      const fault = yield* from(source, digest, hostId)
      if (fault === null) return
      yield* Effect.logInfo(`The image ${digest} did not reach the host ${hostId} from ${source}`, String(fault))
      isAway ||= !isGone(fault)
    }
    return yield* isAway ? sourceAway : nowhere()
  })

  /** @param isMissing The host has said that it does not have the image. */
  const bring = (digest: string, hostId: string, isMissing = false) =>
    Effect.gen(function* () {
      if (!isMissing && (yield* rows.has(hostId, digest))) return
      yield* travelling
        .withPermits(1)(travel(digest, hostId))
        .pipe(Effect.retry({ schedule: again, times: triesMore, while: ({ _tag }) => _tag === "RuntimeUnavailable" }))
      yield* rows.note(hostId, digest)
    }).pipe(lock(`${digest} ${hostId}`))

  return {
    /** Those that only this host has. */
    leaving: rows.leaving,

    /** A few hosts that may take an image, the emptiest first. */
    takers: rows.receivers,

    /** Does nothing where the host has the image. */
    bring: (digest: string, hostId: string) => bring(digest, hostId),

    /** Runs `boot` on that host once it has the image. A host that has lost it gets it again. */
    before: <A>(
      image: SandboxSpec["image"],
      hostId: string,
      boot: Effect.Effect<A, Fault>
    ): Effect.Effect<A, Fault> => {
      if (image === undefined) return boot
      const { digest, reference } = image
      const noted = Effect.tap(boot, () => Effect.forkIn(rows.note(hostId, digest), scope))
      // The digest stands for the reference of one that was uploaded.
      if (reference !== digest) return noted
      return bring(digest, hostId).pipe(
        Effect.andThen(Effect.result(noted)),
        Effect.flatMap((booted) => {
          if (Result.isSuccess(booted)) return Effect.succeed(booted.success)
          if (!isGone(booted.failure)) return Effect.fail(booted.failure)
          return Effect.andThen(bring(digest, hostId, true), noted)
        })
      )
    }
  }
})

/** One for all of a process: it bounds the transfers. */
export class ImageCopies extends Context.Service<ImageCopies, Effect.Success<typeof make>>()(
  "atoll/fleet/ImageCopies"
) {
  static readonly layer = Layer.effect(ImageCopies, make)
}
