/**
 * The life of one preview: a host name by which one port of one boot of a Sandbox is reached, for an hour at most.
 *
 * The name is served in `active` only. It dies with the commit that leaves that state; `closing` and `expiring` end what goes on
 * through it and last until the guest has confirmed that nothing is left there. A boot that ended has nothing left.
 *
 * The preview id is a capability: only its SHA-256 is here.
 *
 * @source contract.md "Previews", contract-details.md "Shapes" (Preview)
 */
import { assign, setup } from "xstate"
import type { PreviewContext } from "../schemas/contexts/Preview.ts"
import type { PublicReason } from "../schemas/PublicText.ts"
import { expiry, isOver } from "./expiry.ts"
import type { StateMeta } from "./meta.ts"

export interface PreviewInput
  extends Pick<PreviewContext, "previewSha256" | "accountId" | "sandboxId" | "generation" | "port"> {
  readonly lifetimeMs: number
  readonly at: number
}

export type PreviewEvent =
  /** The Sandbox runs this generation and its guest answers. */
  | { readonly type: "TUNNEL_OPEN"; readonly at: number }
  /** It does not, or stopped meanwhile. */
  | { readonly type: "TUNNEL_REFUSED"; readonly at: number; readonly reason: PublicReason }
  /** A client closes it. */
  | { readonly type: "CLOSE"; readonly at: number }
  /** Its hour is over. */
  | { readonly type: "EXPIRE"; readonly at: number }
  /** The Sandbox stopped, was deleted or is lost. */
  | { readonly type: "SANDBOX_ENDED"; readonly at: number; readonly reason: PublicReason }
  /** Nothing of it is left, here or in the guest. */
  | { readonly type: "TUNNEL_CLOSED"; readonly at: number }

/** Every event type, for tests that walk the machine. @public */
export const previewEvents = [
  "TUNNEL_OPEN",
  "TUNNEL_REFUSED",
  "CLOSE",
  "EXPIRE",
  "SANDBOX_ENDED",
  "TUNNEL_CLOSED"
] as const satisfies ReadonlyArray<PreviewEvent["type"]>

const opened = { TUNNEL_OPEN: "TUNNEL_ALREADY_OPEN", TUNNEL_REFUSED: "TUNNEL_ALREADY_OPEN" }
const over = {
  TUNNEL_OPEN: "PREVIEW_OVER",
  TUNNEL_REFUSED: "PREVIEW_OVER",
  EXPIRE: "STALE_DEADLINE",
  SANDBOX_ENDED: "PREVIEW_OVER",
  TUNNEL_CLOSED: "PREVIEW_OVER"
}

/** A preview's state as lists show it: its end counts from the moment at which the host name is dead. */
export const listedAs = (state: string): "opening" | "active" | "closed" | "expired" => {
  switch (state) {
    case "opening":
    case "active":
    case "expired":
      return state
    case "expiring":
      return "expired"
    default:
      return "closed"
  }
}

export const previewMachine = setup({
  types: {
    input: {} as PreviewInput,
    context: {} as PreviewContext,
    events: {} as PreviewEvent,
    meta: {} as StateMeta,
    tags: {} as "open" | "confirming" | "usable" | "over"
  },
  guards: { isOver },
  actions: {
    /** Command: make sure that the Sandbox runs and answers, after this preview is stored. Answers TUNNEL_OPEN or TUNNEL_REFUSED. */
    openTunnel: () => {},
    /** Command: cut what goes on through it, and have the guest confirm; tried until done. Answers TUNNEL_CLOSED. */
    closeTunnel: () => {},
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

    noteReason: assign({ reason: ({ event }) => ("reason" in event ? event.reason : null) }),
    noteEnd: assign({ endedAt: ({ event }) => event.at })
  }
}).createMachine({
  id: "preview",
  version: "1",
  description: "One host name for one port of a running Sandbox.",
  // `input?.`: where only an actor's scope is wanted, one is made of this machine without input, and its context thrown away.
  context: ({ input }) => ({
    previewSha256: input?.previewSha256,
    accountId: input?.accountId,
    sandboxId: input?.sandboxId,
    generation: input?.generation,
    port: input?.port,
    createdAt: input?.at,
    expiresAt: Math.ceil(input?.at + input?.lifetimeMs),
    endedAt: null,
    reason: null
  }),
  initial: "opening",
  states: {
    opening: {
      description:
        "Stored, not served yet: the Sandbox is looked at once more, so that none that ends meanwhile is missed.",
      tags: ["open", "confirming"],
      meta: { unchanged: [], refuses: { TUNNEL_CLOSED: "TUNNEL_NOT_CLOSING" } },
      entry: [{ type: "openTunnel" }, { type: "schedule", params: expiry }],
      on: {
        TUNNEL_OPEN: [
          {
            guard: "isOver",
            target: "expiring",
            actions: ["noteEnd"],
            description: "Its hour was over before it was served."
          },
          { target: "active", description: "Served from now on." }
        ],
        TUNNEL_REFUSED: {
          target: "refused",
          actions: ["noteReason", "noteEnd"],
          description: "The Sandbox cannot be reached."
        },
        CLOSE: {
          target: "closing",
          actions: ["noteEnd"],
          description: "Closed before it was served."
        },
        EXPIRE: { target: "expiring", actions: ["noteEnd"], description: "Its hour was over before it was served." },
        SANDBOX_ENDED: {
          target: "closing",
          actions: ["noteReason", "noteEnd"],
          description: "The Sandbox ended before it was served."
        }
      }
    },
    active: {
      description: "The host name is served.",
      tags: ["open", "usable"],
      meta: { unchanged: [], refuses: { ...opened, TUNNEL_CLOSED: "TUNNEL_NOT_CLOSING" } },
      on: {
        CLOSE: {
          target: "closing",
          actions: ["noteEnd"],
          description: "A client closes it."
        },
        EXPIRE: { target: "expiring", actions: ["noteEnd"], description: "Its hour is over." },
        SANDBOX_ENDED: {
          target: "closing",
          actions: ["noteReason", "noteEnd"],
          description: "The Sandbox ended."
        }
      }
    },
    closing: {
      description: "The host name is dead; what went on through it is being ended.",
      meta: {
        unchanged: ["CLOSE", "SANDBOX_ENDED"],
        refuses: { ...opened, EXPIRE: "STALE_DEADLINE" }
      },
      entry: [{ type: "unschedule", params: { name: "expiry" } }, { type: "closeTunnel" }],
      on: { TUNNEL_CLOSED: { target: "closed", description: "Nothing is left." } }
    },
    expiring: {
      description: "The hour is over and the host name dead; what went on through it is being ended.",
      meta: {
        unchanged: ["CLOSE", "SANDBOX_ENDED"],
        refuses: { ...opened, EXPIRE: "STALE_DEADLINE" }
      },
      entry: [{ type: "unschedule", params: { name: "expiry" } }, { type: "closeTunnel" }],
      on: { TUNNEL_CLOSED: { target: "expired", description: "Nothing is left." } }
    },
    closed: {
      type: "final",
      description: "Closed by a client or with its Sandbox.",
      tags: ["over"],
      meta: { unchanged: ["CLOSE"], refuses: over }
    },
    expired: {
      type: "final",
      description: "Its hour is over.",
      tags: ["over"],
      meta: { unchanged: ["CLOSE"], refuses: over }
    },
    refused: {
      type: "final",
      description: "Never served: the Sandbox could not be reached.",
      tags: ["over"],
      meta: { unchanged: ["CLOSE"], refuses: over },
      entry: [{ type: "unschedule", params: { name: "expiry" } }]
    }
  }
})
