/**
 * Serves previews by their host names: proxies HTTP/1.1, and upgraded connections byte for byte.
 *
 * Streams are piped, so backpressure works in both directions, through the guest's flow control up to the program.
 *
 * @source contract.md "Previews"; RFC 9110 section 7.6
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Cause, Clock, Context, Effect, Exit, FiberSet, Layer, Scope } from "effect"
import { Settings } from "../../Config.ts"
import { isDatabaseFault } from "../../store/DatabaseFault.ts"
import { clientOf } from "../gateway/Clients.ts"
import { LiveConnections } from "../gateway/LiveConnections.ts"
import type { RawGateway } from "../gateway/RawGateway.ts"
import { SandboxReach } from "../gateway/SandboxReach.ts"
import { answerPage, answerPageOnSocket, wantsHtml } from "./answerPage.ts"
import type { ForwardOptions } from "./ForwardOptions.ts"
import type { Hop } from "./forwardedHeaders.ts"
import { forwardRequest } from "./forwardRequest.ts"
import { forwardUpgrade } from "./forwardUpgrade.ts"
import { Previews, type PreviewTarget } from "./Previews.ts"
import { previewIds } from "./previewHost.ts"
import { previewPages } from "./previewPages.ts"
import { previewPools } from "./previewPools.ts"
import { previewSchemeOf } from "./previewUrl.ts"
import type { Dial } from "./Upstream.ts"

/** Others may be quicker to take what was gathered. */
const gatherTriesMax = 3

type Fork = <A, E>(effect: Effect.Effect<A, E>) => Promise<A>

/** Connections whose scopes end with them. */
const dials = Effect.fnUntraced(function* (fork: Fork) {
  const reach = yield* SandboxReach
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  return (target: PreviewTarget): Dial =>
    () =>
      fork(
        Effect.uninterruptibleMask(
          Effect.fnUntraced(function* (restore) {
            const scope = yield* Scope.make()
            const stream = yield* restore(reach.dial(target, target.port)).pipe(
              Scope.provide(scope),
              Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
            )
            const end = () => void runFork(Scope.close(scope, Exit.void))
            if (stream.destroyed) end()
            else stream.once("close", end)
            return stream
          })
        )
      )
})

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const previewIdOf = previewIds(settings.previewDomain.toLowerCase())
  const schemeAsServed = previewSchemeOf(settings)
  const previews = yield* Previews
  const connections = yield* LiveConnections
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntimePromise()
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const dialOf = yield* dials(fork)
  const poolOf = yield* previewPools(dialOf)

  const hopOf = (request: IncomingMessage): Hop => {
    const { address, said, scheme } = clientOf(request)
    return { scheme: scheme ?? schemeAsServed, address: address || "unknown", said }
  }

  const optionsOf = (request: IncomingMessage, target: PreviewTarget): ForwardOptions => ({
    target,
    hop: hopOf(request),
    dial: dialOf(target),
    connections
  })

  const find = (request: IncomingMessage) => {
    const previewId = previewIdOf(request.headers.host)
    return previewId == null ? Promise.resolve(null) : fork(previews.find(previewId))
  }

  /** Runs `then` once this process has free permits, or there are none; usually immediately. No other request can take them before `then` runs. */
  const withPermits = (target: PreviewTarget, then: () => void, tries = gatherTriesMax): void | Promise<void> => {
    const gathering = tries > 0 ? connections.gather(target) : null
    return gathering === null ? then() : fork(gathering).then(() => withPermits(target, then, tries - 1))
  }

  const failed = (cause: unknown) => void runFork(Effect.logError("Could not serve a preview", Cause.die(cause)))

  const serve = (
    request: IncomingMessage,
    response: ServerResponse,
    target: PreviewTarget | null
  ): void | Promise<void> => {
    if (response.destroyed) return
    if (target === null) return answerPage(request, response, previewPages.notFound(wantsHtml(request)))
    return withPermits(target, () => {
      if (response.destroyed) return
      const pool = poolOf(target)
      if (pool === null) answerPage(request, response, previewPages.tooMany(wantsHtml(request)))
      else forwardRequest(request, response, pool, optionsOf(request, target))
    })
  }

  const gateway: RawGateway = {
    takes: (request) => previewIdOf(request.headers.host) !== undefined,
    request: (request, response) => {
      const previewId = previewIdOf(request.headers.host)
      const target = previewId == null ? null : previews.leased(previewId, clock.currentTimeMillisUnsafe())
      const found = target === null ? find(request) : Promise.resolve(target)
      found
        .then((target) => serve(request, response, target))
        .catch((cause) => {
          if (isDatabaseFault(cause)) return answerPage(request, response, previewPages.unserved(wantsHtml(request)))
          failed(cause)
          response.destroy()
        })
    },
    upgrade: (request, socket, first) => {
      socket.on("error", () => {})
      find(request)
        .then((target) => {
          if (socket.destroyed) return
          if (target === null) return answerPageOnSocket(socket, previewPages.notFound(false))
          return withPermits(target, () => {
            if (!socket.destroyed) forwardUpgrade(request, socket as Socket, first, optionsOf(request, target))
          })
        })
        .catch((cause) => {
          if (isDatabaseFault(cause)) return answerPageOnSocket(socket, previewPages.unserved(false))
          failed(cause)
          socket.destroy()
        })
    }
  }
  return gateway
})

export class PreviewGateway extends Context.Service<PreviewGateway, RawGateway>()(
  "atoll/access/preview/PreviewGateway"
) {
  static readonly layer = Layer.effect(PreviewGateway, make)
}
