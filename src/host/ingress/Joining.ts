/**
 * Registers a host with its fleet: the host joins one of the services of ATOLL_FLEET_JOIN and sends heartbeats to it. When that service does not
 * answer, the host joins another one, or the same one again. The chosen service has no other meaning.
 */
import { Context, Deferred, Effect, Exit, Layer, Schema } from "effect"
import { Settings, SettingsUnusable } from "../../Config.ts"
import { connectPeerRpcs } from "../../peer/PeerRpc.ts"
import { type PeerAddress, PeerSockets, PeerUnreachable } from "../../peer/PeerSockets.ts"
import { worker } from "../../platform/worker/Worker.ts"
import type { HostDescription } from "../../runtime/distant/HostDescription.ts"
import { JoinRefused, JoinRpcs } from "../../runtime/distant/JoinRpcs.ts"
import { OwnHost } from "./OwnHost.ts"

const answerWithin = "10 seconds"
/** A process that stops waits only this long. */
const leaveWithin = "1 second"
const pauseFirstMs = 250
/** Shorter than any lease. A host that is refused because its previous process was heard of just now is not silent for long. */
const pauseMaxMs = 2000
const beatEvery = { minimumMs: 50, maximumMs: 60_000 }

/** This host can never join. `message` is one sentence. */
export class NeverJoins extends Schema.TaggedError<NeverJoins>()("NeverJoins", { message: Schema.String }) {}

export interface Standing {
  /** The service that it joined; null when there is none now. */
  readonly service: string | null
  /** Why it has no service, or left the last one; null when there was no fault. */
  readonly fault: string | null
}

const shown = ({ host, port }: PeerAddress): string => (host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`)

/** An RPC client's text about a broken connection is not meant for an operator. */
const sentenceOf = (fault: { readonly _tag: string; readonly message: string }, to: PeerAddress): string => {
  switch (fault._tag) {
    case "HostUnknown":
      return `The service ${shown(to)} does not know this host any more.`
    case "RpcClientError":
      return `The service ${shown(to)} has closed the connection.`
    default:
      return fault.message
  }
}

/** Between half and all of the pause, so that hosts that lost the same service do not return at the same moment. */
const jittered = (pauseMs: number): number => pauseMs * (0.5 + Math.random() / 2)

/** Logs a time without a service as two lines, however often the host tries to join, and one line for each refusal. */
class Alone {
  readonly #services: number
  #sinceMs = performance.now()
  #attempts = 0
  #hasBeen = false
  #reasons = new Set<string>()
  #told = new Set<string>()
  #isStart = true

  constructor(services: number) {
    this.#services = services
  }

  /** The sentence to log for a failed attempt or a lost service; null when nothing is to be logged. */
  failed(
    reason: string,
    { wasJoined, isRefusal }: { readonly wasJoined: boolean; readonly isRefusal: boolean }
  ): string | null {
    this.#hasBeen = true
    if (wasJoined) {
      this.#sinceMs = performance.now()
      return reason
    }
    this.#attempts++
    if (isRefusal) {
      if (this.#told.has(reason)) return null
      this.#told.add(reason)
      return reason
    }
    this.#reasons.add(reason)
    // At start: after each service was asked once.
    return this.#isStart && this.#attempts === this.#services ? [...this.#reasons].join(" ") : null
  }

  /** An addition to the log line about the service that it joined. */
  ended(): string {
    const seconds = Math.round((performance.now() - this.#sinceMs) / 1000)
    const after = this.#hasBeen ? `, ${seconds} s after it was with none: ${this.#attempts} attempts failed` : ""
    this.#attempts = 0
    this.#hasBeen = false
    this.#isStart = false
    this.#reasons.clear()
    this.#told.clear()
    return after
  }
}

export class Joining extends Context.Service<
  Joining,
  {
    readonly standing: () => Standing
    /** Fails once it is certain that this host can join no service. */
    readonly forbidden: Effect.Effect<never, NeverJoins>
  }
>()("atoll/host/ingress/Joining") {
  /** Needs OwnHost, whose port is open, PeerSockets and Settings. */
  static readonly layer = Layer.effect(
    Joining,
    Effect.gen(function* () {
      const { fleetJoin } = yield* Settings
      const sockets = yield* PeerSockets
      const own = yield* OwnHost
      if (fleetJoin.length === 0) {
        return yield* new SettingsUnusable({
          message: "ATOLL_ROLE=host needs ATOLL_FLEET_JOIN: services of its fleet, as name:port with commas between."
        })
      }
      const forbidden = yield* Deferred.make<never, NeverJoins>()
      let standing: Standing = { service: null, fault: null }
      const alone = new Alone(fleetJoin.length)

      /** Stays joined until the connection is lost or the service rejects the host. */
      const stay = Effect.fnUntraced(function* (to: PeerAddress) {
        const name = shown(to)
        const unreachable = (what: string) => new PeerUnreachable({ message: `The service ${name} ${what}.` })
        const lost = yield* Deferred.make<never, PeerUnreachable>()
        const up = yield* Deferred.make<void>()
        /** Uses this one connection; a failure to connect ends the stay. */
        const connect: PeerSockets["Service"]["connect"] = (address, protocol) =>
          sockets.connect(address, protocol).pipe(
            Effect.tapError((fault) => Deferred.fail(lost, fault)),
            Effect.tap((socket) =>
              Effect.sync(() =>
                socket.once("close", () =>
                  Deferred.doneUnsafe(lost, Exit.fail(unreachable("has closed the connection")))
                )
              )
            )
          )
        const client = yield* connectPeerRpcs(JoinRpcs, to, "atoll-join/1", {
          connected: Deferred.succeed(up, undefined),
          silent: Deferred.fail(lost, unreachable("does not answer any more"))
        }).pipe(Effect.provideService(PeerSockets, PeerSockets.of({ ...sockets, connect })))
        const answered = <A, E>(call: Effect.Effect<A, E>, within: number | typeof answerWithin) =>
          call.pipe(
            Effect.catchDefect(() => Effect.fail(unreachable("answered with an internal error"))),
            Effect.timeoutOrElse({
              duration: within,
              orElse: () => Effect.fail(unreachable("does not answer in time"))
            })
          )

        const joined = Effect.fnUntraced(function* (description: HostDescription) {
          const { hostId, boot } = description
          const { installation, beatEveryMs } = yield* answered(
            client.Join({ ...description, key: own.key }),
            answerWithin
          )
          const bound = yield* own.bind(installation)
          if (bound !== installation) {
            return yield* new JoinRefused({
              message: "The data folder of this host belongs to another database, whose Sandboxes it carries.",
              isFinal: true
            })
          }
          standing = { service: name, fault: null }
          yield* Effect.logInfo(`This host, ${hostId}, has joined its fleet by the service ${name}${alone.ended()}`)
          const everyMs = Math.min(Math.max(beatEveryMs, beatEvery.minimumMs), beatEvery.maximumMs)
          const beat = Effect.gen(function* () {
            const { capacity, networkRefused } = yield* own.describe
            yield* answered(client.Beat({ hostId, boot, capacity, networkRefused }), 2 * everyMs)
          })
          return yield* Effect.forever(Effect.andThen(Effect.sleep(everyMs), beat))
        })

        const life = Effect.gen(function* () {
          yield* Deferred.await(up)
          const description = yield* own.describe
          const { hostId, boot } = description
          return yield* joined(description).pipe(
            Effect.onInterrupt(() =>
              Deferred.isDoneUnsafe(lost)
                ? Effect.void
                : client.Leave({ hostId, boot }).pipe(Effect.timeout(leaveWithin), Effect.ignoreCause)
            )
          )
        })
        return yield* Effect.raceFirst(life, Deferred.await(lost))
      }, Effect.scoped)

      const join = Effect.gen(function* () {
        let next = 0
        let failures = 0
        while (true) {
          const fault = yield* Effect.flip(stay(fleetJoin[next]!))
          if (fault._tag === "JoinRefused" && fault.isFinal) {
            yield* Deferred.fail(forbidden, new NeverJoins({ message: fault.message }))
            return yield* Effect.never
          }
          const message = sentenceOf(fault, fleetJoin[next]!)
          const wasJoined = standing.service !== null
          standing = { service: null, fault: message }
          failures = wasJoined ? 0 : failures + 1
          const news = alone.failed(message, { wasJoined, isRefusal: fault._tag === "JoinRefused" })
          if (news !== null) yield* Effect.logWarning(`This host is with no service now. ${news}`)
          next = (next + 1) % fleetJoin.length
          // Asks each service once before it asks any again.
          const rounds = Math.floor(failures / fleetJoin.length)
          if (failures % fleetJoin.length === 0) {
            yield* Effect.sleep(jittered(Math.min(pauseFirstMs * 2 ** Math.min(rounds, 10), pauseMaxMs)))
          }
        }
      })
      yield* worker("fleet joining", join)

      return { standing: () => standing, forbidden: Deferred.await(forbidden) }
    })
  )
}
