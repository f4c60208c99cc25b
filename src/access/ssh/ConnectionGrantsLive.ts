/** The ConnectionGrants service on actors; the endpoint id is the actor's. */

import { Clock, Effect, Layer } from "effect"
import { connectionGrantMachine } from "../../../machines/connectionGrant.ts"
import type { ConnectionGrantContext } from "../../../schemas/contexts/ConnectionGrant.ts"
import { InvalidRequest, NotFound, SandboxUnavailable, UnsupportedByRuntime } from "../../../schemas/Errors.ts"
import { cooperativeGrantSeconds } from "../../../schemas/Limits.ts"
import { Settings } from "../../Config.ts"
import { ActorHost } from "../../engine/ActorHost.ts"
import { isTagged, taggedStates } from "../../engine/taggedStates.ts"
import { newId } from "../../platform/identifier/newId.ts"
import { unavailable, unavailableUnlessRunning } from "../../sandbox/RunningSandbox.ts"
import { sandboxIngress } from "../gateway/sandboxIngress.ts"
import { ConnectionGrants } from "./ConnectionGrants.ts"
import { grantDefinition } from "./GrantDefinition.ts"
import { canonicalKey, isSameSet } from "./publicKeys.ts"
import { SshEndpoint } from "./SshEndpoint.ts"

const grantMs = cooperativeGrantSeconds * 1000

const usableStates = taggedStates(connectionGrantMachine, "usable")

const invalid = (path: ReadonlyArray<string | number>, message: string) =>
  new InvalidRequest({ details: { issues: [{ path, message }] } })

const isUsable = isTagged(connectionGrantMachine, "usable")
/** Revoked, or refused before it was usable. */
const isWithdrawn = isTagged(connectionGrantMachine, "withdrawn")

const make = Effect.gen(function* () {
  const host = yield* ActorHost
  const settings = yield* Settings
  const endpoint = yield* SshEndpoint
  const ingress = yield* sandboxIngress(yield* grantDefinition)

  const envelope = ({ endpointId, expiresAt }: ConnectionGrantContext) => ({
    endpointId,
    host: endpoint.host,
    port: endpoint.port(),
    username: endpointId,
    hostKey: endpoint.hostKey.publicLine,
    expiresAt: new Date(expiresAt).toISOString()
  })

  /** The check of the Sandbox's account precedes the check of the feature. */
  const ownSandbox = Effect.fnUntraced(function* (accountId: string, sandboxId: string) {
    yield* ingress.ownSandbox(accountId, sandboxId)
    if (settings.cooperative === "off")
      return yield* new UnsupportedByRuntime({
        message: "SSH connections are off on this server. The operator turns them on with ATOLL_COOPERATIVE=on."
      })
  })

  const find = Effect.fnUntraced(function* (accountId: string, sandboxId: string, endpointId: string) {
    yield* ownSandbox(accountId, sandboxId)
    const record = yield* ingress.find(endpointId)
    if (record === null || record.sandboxId !== sandboxId) return yield* new NotFound()
    return record
  })

  const canonical = (publicKeys: ReadonlyArray<string>) =>
    Effect.forEach(publicKeys, (line, at) => {
      const key = canonicalKey(line)
      return key === null
        ? Effect.fail(invalid(["publicKeys", at], "Expected a whole public key; RSA of at least 3072 bits"))
        : Effect.succeed(key)
    })

  const live = Effect.fnUntraced(function* (endpointId: string) {
    const record = yield* ingress.find(endpointId)
    return record !== null && (yield* ingress.isUsable(record.status, record.context)) ? record.context : null
  })

  return ConnectionGrants.of({
    grant: Effect.fn("ConnectionGrants.grant")(function* (accountId, sandboxId, { requestId, publicKeys }) {
      const keys = yield* canonical(publicKeys)
      yield* ownSandbox(accountId, sandboxId)
      const { generation } = yield* ingress.running(accountId, sandboxId).pipe(unavailableUnlessRunning)
      const endpointId = newId("ep_")
      yield* host.create(connectionGrantMachine, {
        id: endpointId,
        accountId,
        sandboxId,
        input: {
          endpointId,
          accountId,
          sandboxId,
          generation,
          publicKeys: keys,
          grantMs,
          at: yield* Clock.currentTimeMillis
        },
        payload: null,
        cause: "client",
        requestId,
        idempotency: null
      })
      const state = yield* ingress.opened(endpointId)
      if (state === null || !isUsable(state.value)) return yield* new SandboxUnavailable({ details: { status: null } })
      return envelope(state.context)
    }),

    recover: Effect.fn("ConnectionGrants.recover")(function* (accountId, sandboxId, endpointId, publicKeys) {
      const keys = yield* canonical(publicKeys)
      const { status, context } = yield* find(accountId, sandboxId, endpointId)
      if (isWithdrawn(status)) return yield* new NotFound()
      if (!isSameSet(keys, context.publicKeys)) {
        return yield* invalid(["publicKeys"], "Expected the keys that this endpoint was granted to")
      }
      return envelope(context)
    }),

    revoke: Effect.fn("ConnectionGrants.revoke")(function* (accountId, sandboxId, endpointId, { requestId }) {
      yield* find(accountId, sandboxId, endpointId)
      yield* ingress.end(endpointId, { type: "REVOKE" }, requestId).pipe(Effect.catchTag("MailboxFull", unavailable))
      return { endpointId, status: "unconfirmed" as const }
    }),

    keyFor: Effect.fn("ConnectionGrants.keyFor")(function* (endpointId, blob) {
      const context = yield* live(endpointId)
      const encoded = Buffer.from(blob).toString("base64")
      return context?.publicKeys.find((key) => key.split(" ")[1] === encoded) ?? null
    }),

    connect: Effect.fn("ConnectionGrants.connect")(function* (endpointId) {
      const context = yield* live(endpointId)
      if (context === null) return null
      const { accountId, sandboxId, generation } = context
      return yield* host.send(connectionGrantMachine, endpointId, { type: "CONNECT" }, { cause: "client" }).pipe(
        Effect.map(({ value }) =>
          usableStates.includes(value) ? { actorId: endpointId, accountId, sandboxId, generation } : null
        ),
        Effect.catch(() => Effect.succeed(null))
      )
    })
  })
})

export const ConnectionGrantsLive = Layer.effect(ConnectionGrants, make)
