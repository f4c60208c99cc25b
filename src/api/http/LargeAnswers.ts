/**
 * A semaphore for responses of several megabytes, for each account and for this process. A response holds its place from the read of its
 * content until its last byte is sent.
 *
 * The size of a command's answer is known only at its end, and a command must not wait for its turn here. So its answer is counted in bytes once it
 * is there. While clients of an account leave too many bytes unread, the account's next command is refused.
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
  /** Bytes of commands' answers that clients have not read. */
  readonly unreadPerAccount: number
  readonly unreadPerProcess: number
  /** How long a request waits for a place, or until answers are read. */
  readonly patienceMs: number
  /** A client that reads no byte for so long is disconnected. */
  readonly stalledMs: number
}

const mebibyte = 1024 ** 2

const bounds: LargeAnswerBounds = {
  perAccount: 4,
  perProcess: 8,
  unreadPerAccount: 32 * mebibyte,
  unreadPerProcess: 128 * mebibyte,
  patienceMs: 3_000,
  stalledMs: 60_000
}

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

/** Bytes of answers that are there and not read. */
class UnreadBytes {
  readonly #bounds: LargeAnswerBounds
  readonly #ofAccounts = new Map<string, number>()
  readonly #waiting = new Set<{ readonly accountId: string; readonly goOn: () => void }>()
  #total = 0

  constructor(bounds: LargeAnswerBounds) {
    this.#bounds = bounds
  }

  /** An account without unread answers always has room: other accounts cannot keep it out. */
  #hasRoom(accountId: string): boolean {
    const own = this.#ofAccounts.get(accountId) ?? 0
    return own === 0 || (own < this.#bounds.unreadPerAccount && this.#total < this.#bounds.unreadPerProcess)
  }

  /** Succeeds once the account has room. */
  room(accountId: string): Effect.Effect<void, RateLimited> {
    return Effect.suspend(() => {
      if (this.#hasRoom(accountId)) return Effect.void
      const read = Effect.callback<void>((resume) => {
        const one = { accountId, goOn: () => resume(Effect.void) }
        this.#waiting.add(one)
        return Effect.sync(() => void this.#waiting.delete(one))
      })
      return Effect.timeoutOrElse(read, { duration: this.#bounds.patienceMs, orElse: () => Effect.fail(busy()) })
    })
  }

  add(accountId: string, bytes: number): void {
    this.#total += bytes
    const own = (this.#ofAccounts.get(accountId) ?? 0) + bytes
    if (own === 0) this.#ofAccounts.delete(accountId)
    else this.#ofAccounts.set(accountId, own)
    for (const one of this.#waiting) {
      if (!this.#hasRoom(one.accountId)) continue
      this.#waiting.delete(one)
      one.goOn()
    }
  }
}

const onceSent = (request: HttpServerRequest.HttpServerRequest, stalledMs: number, then: () => void): void => {
  const answer = NodeHttpServerRequest.toServerResponse(request) as ServerResponse
  if (answer.closed) then()
  else {
    answer.once("close", then)
    answer.setTimeout(stalledMs, () => answer.destroy())
  }
}

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
    /** Runs the handler once few enough of the account's answers are unread, and counts its own. */
    readonly onceRead: <E, R>(
      accountId: string,
      request: HttpServerRequest.HttpServerRequest,
      handler: Handler<E, R>
    ) => Handler<E | RateLimited, R>
  }
>()("atoll/api/http/LargeAnswers") {
  static readonly layerOf = (given: LargeAnswerBounds) =>
    Layer.sync(LargeAnswers, () => {
      const { perAccount, perProcess, patienceMs, stalledMs } = given
      const unread = new UnreadBytes(given)
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

      return LargeAnswers.of({
        inTurn: (accountId, request, handler) =>
          Effect.suspend(() => {
            const place: Place = { accountId, state: "new", enter: () => {} }
            return Effect.onExit(Effect.andThen(enter(place), handler), (exit) =>
              Effect.sync(() => {
                const isSmall = Exit.isFailure(exit) || lengthOf(exit.value) <= smallMaxBytes
                if (isSmall) leave(place)
                else onceSent(request, stalledMs, () => leave(place))
              })
            )
          }),
        onceRead: (accountId, request, handler) =>
          Effect.tap(Effect.andThen(unread.room(accountId), handler), (response) =>
            Effect.sync(() => {
              const bytes = lengthOf(response)
              if (bytes <= smallMaxBytes) return
              unread.add(accountId, bytes)
              onceSent(request, stalledMs, () => unread.add(accountId, -bytes))
            })
          )
      })
    })

  static readonly layer = LargeAnswers.layerOf(bounds)
}
