/** The ServiceAccesses service on actors. The caller's key is in the actor's id, so one key can only ever make one access. */

import { hash } from "node:crypto"
import { Clock, Effect, Layer } from "effect"
import { lastsAt } from "../../../machines/expiry.ts"
import { serviceAccessMachine } from "../../../machines/serviceAccess.ts"
import type { ServiceAccessContext } from "../../../schemas/contexts/ServiceAccess.ts"
import {
  InvalidRequest,
  NotFound,
  SandboxUnavailable,
  Unauthenticated,
  UnsupportedByRuntime
} from "../../../schemas/Errors.ts"
import { serviceAccessClockToleranceSeconds, serviceAccessLifetimeSeconds } from "../../../schemas/Limits.ts"
import type { ServiceAccessRequest } from "../../../schemas/ServiceAccess.ts"
import { Settings } from "../../Config.ts"
import { ActorHost } from "../../engine/ActorHost.ts"
import { isTagged, taggedStates } from "../../engine/taggedStates.ts"
import { unavailable, unavailableUnlessRunning } from "../../sandbox/RunningSandbox.ts"
import type { ActorRecord } from "../../store/Actors.ts"
import { sandboxIngress } from "../gateway/sandboxIngress.ts"
import { Capability, type Claims, type Sealing } from "./Capability.ts"
import { serviceAccessDefinition } from "./ServiceAccessDefinition.ts"
import { ServiceAccesses } from "./ServiceAccesses.ts"

type AccessRecord = ActorRecord<ServiceAccessContext, Sealing>

const revokeAnswerMs = 6000
const lifetimeMs = serviceAccessLifetimeSeconds * 1000
const toleranceMs = serviceAccessClockToleranceSeconds * 1000

const actorIdOf = (accountId: string, generationId: string): string =>
  `sva_${hash("sha256", `${accountId} ${generationId.toLowerCase()}`, "hex").slice(0, 40)}`

const invalid = (path: string, message: string) =>
  new InvalidRequest({ details: { issues: [{ path: [path], message }] } })

const isSame = ({ context }: AccessRecord, sandboxId: string, { requested_at, ports }: ServiceAccessRequest): boolean =>
  context.sandboxId === sandboxId &&
  context.requestedAt === requested_at &&
  context.ports.length === ports.length &&
  context.ports.every((port, at) => port === ports[at])

const switchedOff = () =>
  new UnsupportedByRuntime({
    message: "TCP access to ports is off on this server. The operator turns it on with ATOLL_SERVICE_ACCESS=on."
  })

const invalidCapability = () =>
  new Unauthenticated({ message: "The capability is not valid, has expired, or was revoked. Ask for a new one." })

const opens = ({ ports }: Claims, port: number): Effect.Effect<void, NotFound> =>
  ports.includes(port)
    ? Effect.void
    : Effect.fail(new NotFound({ message: `The capability does not open port ${port}. It opens ${ports.join(", ")}.` }))

const isConfirming = isTagged(serviceAccessMachine, "confirming")
/** Its Sandbox could not be reached. */
const wasNeverUsable = isTagged(serviceAccessMachine, "neverUsable")
const overStates = taggedStates(serviceAccessMachine, "over")
const usableStates = taggedStates(serviceAccessMachine, "usable")

/** One that was refused never let anything in. */
const cleanupOf = ({ value, context }: { readonly value: string; readonly context: ServiceAccessContext }) =>
  wasNeverUsable(value) ? "confirmed" : (context.cleanup ?? "unconfirmed")

const make = Effect.gen(function* () {
  const host = yield* ActorHost
  const settings = yield* Settings
  const capabilities = yield* Capability
  const ingress = yield* sandboxIngress<typeof serviceAccessMachine, Sealing>(yield* serviceAccessDefinition)

  /** The account is checked before the feature's setting. */
  const findSandbox = Effect.fnUntraced(function* (accountId: string, sandboxId: string) {
    yield* ingress.ownSandbox(accountId, sandboxId)
    if (settings.serviceAccess === "off") return yield* switchedOff()
  })

  const find = (accountId: string, generationId: string) => ingress.find(actorIdOf(accountId, generationId))

  const known = Effect.fnUntraced(function* (
    accountId: string,
    sandboxId: string,
    generationId: string,
    request: ServiceAccessRequest
  ) {
    const record = yield* find(accountId, generationId)
    if (record !== null && !isSame(record, sandboxId, request)) {
      return yield* invalid("Idempotency-Key", "This key was used with a different request. Use a new one.")
    }
    return record
  })

  const envelope = Effect.fnUntraced(function* (actorId: string, context: ServiceAccessContext, sealing: Sealing) {
    const { accountId, sandboxId, generation, ports, expiresAt } = context
    return {
      capability: yield* capabilities.seal({ actorId, accountId, sandboxId, generation, ports, expiresAt }, sealing)
    }
  })

  /** Waits until the access is usable. An access that has ended is not returned again. */
  const answer = Effect.fnUntraced(function* (actorId: string, sealing: Sealing) {
    const state = yield* ingress.opened(actorId)
    if (state === null || isConfirming(state.value) || wasNeverUsable(state.value)) {
      return yield* new SandboxUnavailable({ details: { status: null } })
    }
    const isUsable = yield* ingress.isUsable(state.value, state.context)
    return isUsable ? yield* envelope(actorId, state.context, sealing) : yield* new NotFound()
  })

  return ServiceAccesses.of({
    create: Effect.fn("ServiceAccesses.create")(function* (accountId, sandboxId, { requestId, generationId, request }) {
      yield* findSandbox(accountId, sandboxId)
      const replayed = yield* known(accountId, sandboxId, generationId, request)
      if (replayed !== null) return yield* answer(replayed.id, replayed.payload)
      const now = yield* Clock.currentTimeMillis
      if (Math.abs(now - request.requested_at) > toleranceMs) {
        return yield* invalid(
          "requested_at",
          `Expected an instant within ${toleranceMs / 1000} s of the server's clock`
        )
      }
      const { generation } = yield* ingress.running(accountId, sandboxId).pipe(unavailableUnlessRunning)
      const actorId = actorIdOf(accountId, generationId)
      const sealing = yield* capabilities.newSealing
      const created = yield* host.create(serviceAccessMachine, {
        id: actorId,
        accountId,
        sandboxId,
        input: {
          generationId: generationId.toLowerCase(),
          accountId,
          sandboxId,
          generation,
          ports: request.ports,
          requestedAt: request.requested_at,
          lifetimeMs,
          at: now
        },
        payload: sealing,
        cause: "client",
        requestId,
        idempotency: null
      })
      if (created !== null) return yield* answer(actorId, sealing)
      const first = yield* known(accountId, sandboxId, generationId, request)
      return yield* answer(actorId, first!.payload)
    }),

    lookUp: Effect.fn("ServiceAccesses.lookUp")(function* (accountId, sandboxId, { generationId, request }) {
      yield* findSandbox(accountId, sandboxId)
      const record = yield* known(accountId, sandboxId, generationId, request)
      if (record === null || !(yield* ingress.isUsable(record.status, record.context))) return yield* new NotFound()
      return yield* envelope(record.id, record.context, record.payload)
    }),

    revoke: Effect.fn("ServiceAccesses.revoke")(function* (accountId, sandboxId, generationId, { requestId }) {
      yield* findSandbox(accountId, sandboxId)
      const record = yield* find(accountId, generationId)
      if (record === null || record.sandboxId !== sandboxId) return yield* new NotFound()
      yield* ingress.end(record.id, { type: "REVOKE" }, requestId).pipe(Effect.catchTag("MailboxFull", unavailable))
      const isOver = (status: string) => overStates.includes(status)
      const state = yield* ingress.wait(record.id, isOver, revokeAnswerMs)
      return { generationId: record.context.generationId, cleanup: cleanupOf(state!) }
    }),

    recognise: Effect.fn("ServiceAccesses.recognise")(function* (sealed) {
      if (settings.serviceAccess === "off") return yield* switchedOff()
      const claims = yield* capabilities.open(sealed)
      if (claims === null || !lastsAt(claims, yield* Clock.currentTimeMillis)) return yield* invalidCapability()
      return claims
    }),

    check: Effect.fn("ServiceAccesses.check")(function* (claims, port) {
      const found = yield* Effect.andThen(opens(claims, port), ingress.find(claims.actorId))
      if (found === null || !(yield* ingress.isUsable(found.status, found.context))) return yield* invalidCapability()
    }),

    admit: Effect.fn("ServiceAccesses.admit")(function* (claims, port, client) {
      const { actorId, accountId, sandboxId, generation } = claims
      yield* opens(claims, port)
      const attached = yield* host
        .send(serviceAccessMachine, actorId, { type: "ATTACH", client }, { cause: "client" })
        .pipe(
          Effect.catchTags({
            EventRefused: () => Effect.fail(invalidCapability()),
            ActorNotFound: () => Effect.fail(invalidCapability()),
            MailboxFull: unavailable
          })
        )
      if (!usableStates.includes(attached.value)) return yield* invalidCapability()
      const { generationId } = attached.context
      return { actorId, generationId, accountId, sandboxId, generation, port, client }
    })
  })
})

export const ServiceAccessesLive = Layer.effect(ServiceAccesses, make).pipe(Layer.provide(Capability.layer))
