/**
 * The life of one TCP service access: a sealed capability that opens some ports of one boot of a Sandbox until a fixed instant.
 *
 * One client is retained: a newer one takes the place of the older, whose connections are cut. Nothing renews it.
 *
 * @source contract.md "TCP service access", contract-details.md "Shapes" (ServiceAccessRequest)
 */
import { assign, setup } from "xstate"
import type { ServiceAccessContext } from "../schemas/contexts/ServiceAccess.ts"
import type { PublicReason } from "../schemas/PublicText.ts"
import { expiry, isOver } from "./expiry.ts"
import type { StateMeta } from "./meta.ts"

export interface ServiceAccessInput
  extends Pick<
    ServiceAccessContext,
    "generationId" | "accountId" | "sandboxId" | "generation" | "ports" | "requestedAt"
  > {
  readonly lifetimeMs: number
  readonly at: number
}

export type ServiceAccessEvent =
  /** The Sandbox runs this generation and its guest answers. */
  | { readonly type: "SANDBOX_CONFIRMED"; readonly at: number }
  /** It does not, or stopped meanwhile. */
  | { readonly type: "SANDBOX_REFUSED"; readonly at: number; readonly reason: PublicReason }
  /** A client connects with the capability. */
  | { readonly type: "ATTACH"; readonly at: number; readonly client: string }
  /** A client of the API revokes it. */
  | { readonly type: "REVOKE"; readonly at: number }
  /** Its time is over. */
  | { readonly type: "EXPIRE"; readonly at: number }
  /** The Sandbox stopped, was deleted or is lost. */
  | { readonly type: "SANDBOX_ENDED"; readonly at: number; readonly reason: PublicReason }
  /** Every connection here is cut; `cleanup` says whether the guest confirmed it. */
  | { readonly type: "CONNECTIONS_CUT"; readonly at: number; readonly cleanup: "confirmed" | "unconfirmed" }

/** Every event type, for tests that walk the machine. @public */
export const serviceAccessEvents = [
  "SANDBOX_CONFIRMED",
  "SANDBOX_REFUSED",
  "ATTACH",
  "REVOKE",
  "EXPIRE",
  "SANDBOX_ENDED",
  "CONNECTIONS_CUT"
] as const satisfies ReadonlyArray<ServiceAccessEvent["type"]>

const looked = { SANDBOX_CONFIRMED: "SANDBOX_ALREADY_CONFIRMED", SANDBOX_REFUSED: "SANDBOX_ALREADY_CONFIRMED" }
const over = {
  SANDBOX_CONFIRMED: "ACCESS_OVER",
  SANDBOX_REFUSED: "ACCESS_OVER",
  ATTACH: "ACCESS_OVER",
  EXPIRE: "STALE_DEADLINE",
  SANDBOX_ENDED: "ACCESS_OVER",
  CONNECTIONS_CUT: "ACCESS_OVER"
}

export const serviceAccessMachine = setup({
  types: {
    input: {} as ServiceAccessInput,
    context: {} as ServiceAccessContext,
    events: {} as ServiceAccessEvent,
    meta: {} as StateMeta,
    tags: {} as "open" | "confirming" | "usable" | "over" | "neverUsable"
  },
  guards: {
    isOver,
    /** It is not the client whose connections are kept. */
    isAnotherClient: ({ context, event }) => event.type === "ATTACH" && event.client !== context.client
  },
  actions: {
    /** Command: look at the Sandbox after this access is stored. Answers SANDBOX_CONFIRMED or SANDBOX_REFUSED. */
    confirmSandbox: () => {},
    /** Command: cut the connections of every client but the retained one. */
    cutOtherClients: () => {},
    /** Command: cut every connection, and ask the guest once. Answers CONNECTIONS_CUT. */
    cutConnections: () => {},
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

    noteClient: assign({ client: ({ context, event }) => (event.type === "ATTACH" ? event.client : context.client) }),
    noteReason: assign({ reason: ({ event }) => ("reason" in event ? event.reason : null) }),
    noteEnd: assign({ endedAt: ({ event }) => event.at }),
    noteCleanup: assign({ cleanup: ({ event }) => (event.type === "CONNECTIONS_CUT" ? event.cleanup : null) })
  }
}).createMachine({
  id: "serviceAccess",
  version: "1",
  description: "A sealed capability for some ports of a running Sandbox.",
  // `input?.`: where only an actor's scope is wanted, one is made of this machine without input, and its context thrown away.
  context: ({ input }) => ({
    generationId: input?.generationId,
    accountId: input?.accountId,
    sandboxId: input?.sandboxId,
    generation: input?.generation,
    ports: input?.ports,
    requestedAt: input?.requestedAt,
    createdAt: input?.at,
    expiresAt: Math.ceil(input?.requestedAt + input?.lifetimeMs),
    endedAt: null,
    client: null,
    reason: null,
    cleanup: null
  }),
  initial: "opening",
  states: {
    opening: {
      description:
        "Stored, not usable yet: the Sandbox is looked at once more, so that none that ends meanwhile is missed.",
      tags: ["open", "confirming"],
      meta: { unchanged: [], refuses: { ATTACH: "ACCESS_NOT_ACTIVE", CONNECTIONS_CUT: "ACCESS_NOT_ENDING" } },
      entry: [{ type: "confirmSandbox" }, { type: "schedule", params: expiry }],
      on: {
        SANDBOX_CONFIRMED: [
          {
            guard: "isOver",
            target: "expiring",
            actions: ["noteEnd"],
            description: "Its time was over before it was usable."
          },
          { target: "active", description: "The capability opens connections from now on." }
        ],
        SANDBOX_REFUSED: {
          target: "refused",
          actions: ["noteReason", "noteEnd"],
          description: "The Sandbox cannot be reached."
        },
        REVOKE: {
          target: "revoking",
          actions: ["noteEnd"],
          description: "Revoked before it was usable."
        },
        EXPIRE: { target: "expiring", actions: ["noteEnd"], description: "Its time was over before it was usable." },
        SANDBOX_ENDED: {
          target: "revoking",
          actions: ["noteReason", "noteEnd"],
          description: "The Sandbox ended before it was usable."
        }
      }
    },
    active: {
      description: "The capability opens connections.",
      tags: ["open", "usable"],
      meta: { unchanged: ["ATTACH"], refuses: { ...looked, CONNECTIONS_CUT: "ACCESS_NOT_ENDING" } },
      on: {
        ATTACH: [
          {
            guard: "isOver",
            target: "expiring",
            actions: ["noteEnd"],
            description: "Its time is over: nobody is let in any more."
          },
          {
            guard: "isAnotherClient",
            actions: ["noteClient", { type: "cutOtherClients" }],
            description: "A newer client takes the place of the older."
          }
        ],
        REVOKE: {
          target: "revoking",
          actions: ["noteEnd"],
          description: "Revoked."
        },
        EXPIRE: { target: "expiring", actions: ["noteEnd"], description: "Its time is over." },
        SANDBOX_ENDED: {
          target: "revoking",
          actions: ["noteReason", "noteEnd"],
          description: "The Sandbox ended."
        }
      }
    },
    revoking: {
      description: "The capability is dead; its connections are being cut.",
      meta: {
        unchanged: ["REVOKE", "SANDBOX_ENDED"],
        refuses: { ...looked, ATTACH: "ACCESS_OVER", EXPIRE: "STALE_DEADLINE" }
      },
      entry: [{ type: "unschedule", params: { name: "expiry" } }, { type: "cutConnections" }],
      on: {
        CONNECTIONS_CUT: { target: "revoked", actions: ["noteCleanup"], description: "No connection is left here." }
      }
    },
    expiring: {
      description: "The time is over and the capability dead; its connections are being cut.",
      meta: {
        unchanged: ["REVOKE", "SANDBOX_ENDED"],
        refuses: { ...looked, ATTACH: "ACCESS_OVER", EXPIRE: "STALE_DEADLINE" }
      },
      entry: [{ type: "unschedule", params: { name: "expiry" } }, { type: "cutConnections" }],
      on: {
        CONNECTIONS_CUT: { target: "expired", actions: ["noteCleanup"], description: "No connection is left here." }
      }
    },
    revoked: {
      type: "final",
      description: "Revoked, or ended with its Sandbox.",
      tags: ["over"],
      meta: { unchanged: ["REVOKE"], refuses: over }
    },
    expired: {
      type: "final",
      description: "Its time is over.",
      tags: ["over"],
      meta: { unchanged: ["REVOKE"], refuses: over }
    },
    refused: {
      type: "final",
      description: "Never usable: the Sandbox could not be reached.",
      tags: ["over", "neverUsable"],
      meta: { unchanged: ["REVOKE"], refuses: over },
      entry: [{ type: "unschedule", params: { name: "expiry" } }]
    }
  }
})
