/**
 * The life of one cooperative grant: some seconds in which SSH connections to one boot of a Sandbox may be opened with submitted keys.
 *
 * A connection that was opened in time goes on when they are over; it ends with its Sandbox, or with the revocation. Nothing renews a grant.
 *
 * @source contract.md "Cooperative connection", contract-details.md "Shapes" (CooperativeEnvelope)
 */
import { assign, setup } from "xstate"
import type { ConnectionGrantContext } from "../schemas/contexts/ConnectionGrant.ts"
import type { PublicReason } from "../schemas/PublicText.ts"
import { expiry, isOver } from "./expiry.ts"
import type { StateMeta } from "./meta.ts"

export interface ConnectionGrantInput
  extends Pick<ConnectionGrantContext, "endpointId" | "accountId" | "sandboxId" | "generation" | "publicKeys"> {
  readonly grantMs: number
  readonly at: number
}

export type ConnectionGrantEvent =
  /** The Sandbox runs this generation and its guest answers. */
  | { readonly type: "SANDBOX_CONFIRMED"; readonly at: number }
  /** It does not, or stopped meanwhile. */
  | { readonly type: "SANDBOX_REFUSED"; readonly at: number; readonly reason: PublicReason }
  /** A client proved to hold one of the keys. */
  | { readonly type: "CONNECT"; readonly at: number }
  /** No connection that it let in is open any more. */
  | { readonly type: "CONNECTIONS_OVER"; readonly at: number }
  /** The grant's seconds are over. */
  | { readonly type: "EXPIRE"; readonly at: number }
  /** A client of the API revokes it. */
  | { readonly type: "REVOKE"; readonly at: number }
  /** The Sandbox stopped, was deleted or is lost. */
  | { readonly type: "SANDBOX_ENDED"; readonly at: number; readonly reason: PublicReason }

/** Every event type, for tests that walk the machine. @public */
export const connectionGrantEvents = [
  "SANDBOX_CONFIRMED",
  "SANDBOX_REFUSED",
  "CONNECT",
  "CONNECTIONS_OVER",
  "EXPIRE",
  "REVOKE",
  "SANDBOX_ENDED"
] as const satisfies ReadonlyArray<ConnectionGrantEvent["type"]>

const looked = { SANDBOX_CONFIRMED: "SANDBOX_ALREADY_CONFIRMED", SANDBOX_REFUSED: "SANDBOX_ALREADY_CONFIRMED" }
const open = { ...looked, CONNECTIONS_OVER: "GRANT_NOT_ELAPSED" }
const elapsed = { ...looked, CONNECT: "GRANT_OVER", EXPIRE: "STALE_DEADLINE" }
const over = { ...elapsed, CONNECTIONS_OVER: "GRANT_OVER", SANDBOX_ENDED: "GRANT_OVER" }

export const connectionGrantMachine = setup({
  types: {
    input: {} as ConnectionGrantInput,
    context: {} as ConnectionGrantContext,
    events: {} as ConnectionGrantEvent,
    meta: {} as StateMeta,
    tags: {} as "open" | "confirming" | "usable" | "carries" | "over" | "withdrawn"
  },
  guards: { isOver },
  actions: {
    /** Command: look at the Sandbox after this grant is stored. Answers SANDBOX_CONFIRMED or SANDBOX_REFUSED. */
    confirmSandbox: () => {},
    /** Command: wait while connections go on; so the end of the Sandbox finds this grant too. Answers CONNECTIONS_OVER. */
    holdConnections: () => {},
    /** Command: end every connection that this grant let in. */
    endConnections: () => {},
    /** Deadline: replaces an earlier one of the same name. */
    schedule: (
      _,
      _params: {
        readonly name: string
        readonly at: number
        readonly event: { readonly type: string } & Record<string, unknown>
      }
    ) => {},
    /** Deadline: forgets it. */
    unschedule: (_, _params: { readonly name: string }) => {},

    noteConnected: assign({ connectedAt: ({ event }) => event.at }),
    noteReason: assign({ reason: ({ event }) => ("reason" in event ? event.reason : null) }),
    noteEnd: assign({ endedAt: ({ event }) => event.at })
  }
}).createMachine({
  id: "connectionGrant",
  version: "1",
  description: "Some seconds in which SSH connections to a running Sandbox may be opened.",
  // `input?.`: where only an actor's scope is wanted, one is made of this machine without input, and its context thrown away.
  context: ({ input }) => ({
    endpointId: input?.endpointId,
    accountId: input?.accountId,
    sandboxId: input?.sandboxId,
    generation: input?.generation,
    publicKeys: input?.publicKeys,
    createdAt: input?.at,
    expiresAt: Math.ceil(input?.at + input?.grantMs),
    connectedAt: null,
    endedAt: null,
    reason: null
  }),
  initial: "opening",
  states: {
    opening: {
      description:
        "Stored, not usable yet: the Sandbox is looked at once more, so that none that ends meanwhile is missed.",
      tags: ["open", "confirming"],
      meta: { unchanged: [], refuses: { CONNECT: "GRANT_NOT_OPEN", CONNECTIONS_OVER: "GRANT_NOT_ELAPSED" } },
      entry: [{ type: "confirmSandbox" }, { type: "schedule", params: expiry }],
      on: {
        SANDBOX_CONFIRMED: [
          { guard: "isOver", target: "elapsed", description: "Its seconds were over before it was usable." },
          { target: "granted", description: "Connections may be opened from now on." }
        ],
        SANDBOX_REFUSED: {
          target: "refused",
          actions: ["noteReason", "noteEnd"],
          description: "The Sandbox cannot be reached."
        },
        EXPIRE: { target: "elapsed", description: "Its seconds were over before it was usable." },
        REVOKE: {
          target: "revoked",
          actions: ["noteEnd"],
          description: "Revoked before it was usable."
        },
        SANDBOX_ENDED: {
          target: "ended",
          actions: ["noteReason", "noteEnd"],
          description: "The Sandbox ended before it was usable."
        }
      }
    },
    granted: {
      description: "Connections may be opened.",
      tags: ["open", "usable", "carries"],
      meta: { unchanged: [], refuses: open },
      on: {
        CONNECT: [
          { guard: "isOver", target: "elapsed", description: "The seconds are over: nobody is let in any more." },
          { actions: ["noteConnected"], description: "A client is let in." }
        ],
        EXPIRE: { target: "elapsed", description: "The seconds are over; connections that were opened go on." },
        REVOKE: {
          target: "revoked",
          actions: ["noteEnd"],
          description: "Revoked."
        },
        SANDBOX_ENDED: {
          target: "ended",
          actions: ["noteReason", "noteEnd"],
          description: "The Sandbox ended."
        }
      }
    },
    elapsed: {
      description: "No connection may be opened any more; those that were go on until their Sandbox ends.",
      tags: ["open", "carries"],
      meta: { unchanged: [], refuses: elapsed },
      entry: [{ type: "unschedule", params: { name: "expiry" } }, { type: "holdConnections" }],
      on: {
        CONNECTIONS_OVER: { target: "ended", actions: ["noteEnd"], description: "The last connection is closed." },
        REVOKE: { target: "revoked", actions: ["noteEnd"], description: "Revoked: what was opened ends too." },
        SANDBOX_ENDED: {
          target: "ended",
          actions: ["noteReason", "noteEnd"],
          description: "The Sandbox ended, and every connection with it."
        }
      }
    },
    revoked: {
      type: "final",
      description: "Revoked, with every connection that it let in.",
      tags: ["over", "withdrawn"],
      meta: { unchanged: ["REVOKE"], refuses: over },
      entry: [{ type: "unschedule", params: { name: "expiry" } }, { type: "endConnections" }]
    },
    ended: {
      type: "final",
      description: "Its connections are over, or its Sandbox is.",
      tags: ["over"],
      meta: { unchanged: ["REVOKE"], refuses: over },
      entry: [{ type: "unschedule", params: { name: "expiry" } }, { type: "endConnections" }]
    },
    refused: {
      type: "final",
      description: "Never usable: the Sandbox could not be reached.",
      tags: ["over", "withdrawn"],
      meta: { unchanged: ["REVOKE"], refuses: over },
      entry: [{ type: "unschedule", params: { name: "expiry" } }]
    }
  }
})
