/**
 * A semaphore for responses of several megabytes, for each account and for this process. A response holds its place from the read of its
 * content until its last byte is sent.
 *
 * Such a response is completely in memory until its client has read it. Without this bound one account could exhaust the memory with clients
 * that send requests and do not read: a response of a log took 100 MB, and 20 of them took 6 GB.
 */
import type { ServerResponse } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Context, Effect, Exit, Layer } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { RateLimited } from "../../../schemas/Errors.ts"

export interface LargeAnswerBounds {
  readonly perAccount: number
  readonly perProcess: number
  /** How long a request waits for a place. */
  readonly patienceMs: number
  /** A client that reads no byte for so long is disconnected. */
  readonly stalledMs: number
}

const bounds: LargeAnswerBounds = { perAccount: 4, perProcess: 8, patienceMs: 3_000, stalledMs: 60_000 }

/** The kernel's buffer takes this much immediately, so the end of the response is not awaited. */
const smallMaxBytes = 64 * 1024
const askAgainSeconds = 2

const lengthOf = ({ body }: HttpServerResponse.HttpServerResponse): number =>
  body._tag === "Empty" ? 0 : ((body as { readonly contentLength?: number }).contentLength ?? Number.POSITIVE_INFINITY)

interface Place {
  readonly accountId: string
  state: "new" | "waiting" | "taken" | "over"
  enter: () => void
}

const busy = () =>
  new RateLimited({
    message:
      "The account's earlier large answers were not read yet. Read them, or close their connections, then try again.",
    details: { retryAfterSeconds: askAgainSeconds }
  })

type Handler<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

export class LargeAnswers extends Context.Service<
  LargeAnswers,
  {
    /** Runs the handler once a place is free. */
    readonly inTurn: <E, R>(
      accountId: string,
      request: HttpServerRequest.HttpServerRequest,
      handler: Handler<E, R>
    ) => Handler<E | RateLimited, R>
  }
>()("atoll/api/http/LargeAnswers") {
  static readonly layerOf = ({ perAccount, perProcess, patienceMs, stalledMs }: LargeAnswerBounds) =>
    Layer.sync(LargeAnswers, () => {
      const taken = new Map<string, number>()
      let waiting: ReadonlyArray<Place> = []
      let total = 0

      /** An account without a place always gets one: other accounts cannot keep it out. */
      const hasRoom = ({ accountId }: Place) => {
        const own = taken.get(accountId) ?? 0
        return own === 0 || (own < perAccount && total < perProcess)
      }

      const take = (place: Place): void => {
        place.state = "taken"
        total++
        taken.set(place.accountId, (taken.get(place.accountId) ?? 0) + 1)
      }

      /** Admits the first waiting request that has room: an account at its limit does not hold up others. */
      const admit = (): void => {
        const next = waiting.find(hasRoom)
        if (next === undefined) return
        waiting = waiting.filter((place) => place !== next)
        take(next)
        next.enter()
      }

      const leave = (place: Place): void => {
        const before = place.state
        place.state = "over"
        if (before === "waiting") waiting = waiting.filter((one) => one !== place)
        if (before !== "taken") return
        total--
        const left = taken.get(place.accountId)! - 1
        if (left === 0) taken.delete(place.accountId)
        else taken.set(place.accountId, left)
        admit()
      }

      const enter = (place: Place): Effect.Effect<void, RateLimited> =>
        Effect.suspend(() => {
          if (hasRoom(place)) return Effect.sync(() => take(place))
          const admitted = Effect.callback<void>((resume) => {
            place.state = "waiting"
            place.enter = () => resume(Effect.void)
            waiting = [...waiting, place]
          })
          return Effect.timeoutOrElse(admitted, { duration: patienceMs, orElse: () => Effect.fail(busy()) })
        })

      const leaveOnceSent = (place: Place, request: HttpServerRequest.HttpServerRequest): void => {
        const answer = NodeHttpServerRequest.toServerResponse(request) as ServerResponse
        if (answer.closed) leave(place)
        else {
          answer.once("close", () => leave(place))
          answer.setTimeout(stalledMs, () => answer.destroy())
        }
      }

      return LargeAnswers.of({
        inTurn: (accountId, request, handler) =>
          Effect.suspend(() => {
            const place: Place = { accountId, state: "new", enter: () => {} }
            return Effect.onExit(Effect.andThen(enter(place), handler), (exit) =>
              Effect.sync(() => {
                const isSmall = Exit.isFailure(exit) || lengthOf(exit.value) <= smallMaxBytes
                if (isSmall) leave(place)
                else leaveOnceSent(place, request)
              })
            )
          })
      })
    })

  static readonly layer = LargeAnswers.layerOf(bounds)
}
