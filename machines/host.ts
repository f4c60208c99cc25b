/**
 * One host of a fleet: whether new Sandboxes may go there, whether theirs may be started, and when those are taken for stopped.
 *
 * What a host says of itself and when it was heard of last stands in a table (`src/fleet/`): it is heard of far more often than anything changes.
 * This machine waits for the instants at which that could matter, looks, and keeps what the operator wishes, which outlasts every silence.
 * Nothing of a host is used before its machines were compared with its Sandboxes (`attend`) and one of its own was booted there (`canary`).
 *
 * Every event carries `at` (epoch milliseconds, from a service's clock); those of one process of the host carry its `boot`, so that a late one
 * is recognised and refused.
 *
 * @source design.md "Hosts"
 */
import { assign, setup } from "xstate"
import type { HostContext } from "../schemas/contexts/Host.ts"
import type { Reason } from "../schemas/Sandbox.ts"
import type { StateMeta } from "./meta.ts"

/** What the operator wants of a host. */
export type Wish = HostContext["wish"]

export interface HostInput extends Pick<HostContext, "hostId" | "boot" | "leaseMs"> {
  readonly at: number
}

export type HostEvent =
  /** A process of the host makes itself known; another one than before after each start. */
  | { readonly type: "JOINED"; readonly at: number; readonly boot: string; readonly leaseMs: number }
  /** Its machines and its Sandboxes agree; the link to it is up. */
  | { readonly type: "RECONCILED"; readonly at: number; readonly boot: string }
  /** It is heard of, and cannot be reached. */
  | { readonly type: "UNREACHED"; readonly at: number; readonly boot: string; readonly reason: Reason }
  /** A Sandbox of its own booted there, ran a command and was removed. */
  | { readonly type: "CANARY_PASSED"; readonly at: number; readonly boot: string }
  /** It did not. */
  | { readonly type: "CANARY_FAILED"; readonly at: number; readonly boot: string; readonly reason: Reason }
  /** A canary that failed is to be tried again. */
  | { readonly type: "CANARY_DUE"; readonly at: number }
  /** Boots of several Sandboxes failed there, none worked in between, and it answers all the same. */
  | { readonly type: "BOOTS_FAIL"; readonly at: number; readonly boot: string; readonly reason: Reason }
  /** A Sandbox booted there, after some did not. */
  | { readonly type: "BOOTS_WORK"; readonly at: number; readonly boot: string }
  /** It may have been silent for too long. */
  | { readonly type: "LEASE_DUE"; readonly at: number }
  /** It was heard of at `seenAt` (epoch milliseconds), or now, and may be silent for `leaseMs` from then on. */
  | { readonly type: "SEEN"; readonly at: number; readonly seenAt?: number; readonly leaseMs: number }
  /** It was not heard of since `seenAt` (epoch milliseconds), for too long. After `lostAfterMs` of that it is lost. */
  | { readonly type: "SILENT"; readonly at: number; readonly seenAt: number; readonly lostAfterMs: number }
  /** It may have been silent for so long that it is lost. */
  | { readonly type: "LOST_DUE"; readonly at: number }
  /** Its process ended in order; its Sandboxes go on. */
  | { readonly type: "LEFT"; readonly at: number; readonly boot: string; readonly lostAfterMs: number }
  /** The operator wants no new Sandboxes there. */
  | { readonly type: "CORDON"; readonly at: number }
  /** The operator wants no new Sandboxes there, and those that run stopped. */
  | { readonly type: "DRAIN"; readonly at: number }
  /** The operator wants it used again. */
  | { readonly type: "UNCORDON"; readonly at: number }
  /** No Sandbox runs there any more. */
  | { readonly type: "DRAINED"; readonly at: number }
  /** The operator gives it up, with the volumes that are there; forced, whatever its state. */
  | { readonly type: "REMOVE"; readonly at: number; readonly isForced: boolean }

export const failuresMax = 4

const firstRetryMs = 5_000

/** 5 s, 20 s, 80 s, 320 s. */
const retryAfterMs = (failures: number): number => firstRetryMs * 4 ** (Math.min(failures, failuresMax) - 1)

const drained: Reason = { code: "HOST_DRAINED", message: "No Sandbox runs there." }

const stale = {
  RECONCILED: "STALE_HOST_EVENT",
  UNREACHED: "STALE_HOST_EVENT",
  CANARY_PASSED: "STALE_HOST_EVENT",
  CANARY_FAILED: "STALE_HOST_EVENT",
  CANARY_DUE: "STALE_DEADLINE",
  BOOTS_FAIL: "STALE_HOST_EVENT",
  BOOTS_WORK: "STALE_HOST_EVENT",
  LEASE_DUE: "STALE_DEADLINE",
  SEEN: "STALE_HOST_EVENT",
  SILENT: "STALE_HOST_EVENT",
  LOST_DUE: "STALE_DEADLINE",
  LEFT: "STALE_HOST_EVENT",
  DRAINED: "STALE_HOST_EVENT",
  REMOVE: "HOST_IN_USE"
}

/** What a state means to other code (`src/fleet/hostStates.ts`). */
type Tag =
  /** The host gets new Sandboxes. */
  | "placeable"
  /** Its Sandboxes can be started. */
  | "startable"
  /** Its Sandboxes are stopped. */
  | "emptied"
  /** It is heard of: that its process joins once more is no news. */
  | "heard"
  /** Services do not know of it now, and soon will. */
  | "silent"
  /** Nothing that runs there is believed to run, and no service waits for it. */
  | "absent"
  /** The operator took it out of the fleet. */
  | "removed"

/** The standing of a host with Sandboxes, by its state; null: it has never joined. */
export const standingIn = (state: string | null): "there" | "silent" | "lost" | "gone" => {
  switch (state) {
    case null:
    case "joining":
    case "suspect":
      return "silent"
    case "lost":
    case "gone":
      return state
    default:
      return "there"
  }
}

type Silence = Pick<HostContext, "seenAt" | "leaseMs" | "updatedAt">

const leaseEndsAt = ({ seenAt, leaseMs }: Pick<Silence, "seenAt" | "leaseMs">): number => seenAt + leaseMs
const lostSince = (suspectSince: number, lostAfterMs: number): number => suspectSince + lostAfterMs

/** When a look at the host was due: by the lease, or for a suspect one by the deadline at which it is lost. */
export const lookDueAt = (state: string, context: Silence, lostAfterMs: number): number =>
  state === "suspect" ? lostSince(context.updatedAt, lostAfterMs) : leaseEndsAt(context)

/** For how much longer, in ms, a host is believed that was silent for `silentForMs`: a suspect one until it would be lost. */
export const believedForMs = (state: string, silentForMs: number, lostAfterMs: number): number =>
  state === "suspect" ? Math.max(0, lostAfterMs - silentForMs) : 0

const leaseDeadline = {
  type: "schedule",
  params: ({ context }: { readonly context: HostContext }) => ({
    name: "lease",
    at: Math.ceil(leaseEndsAt(context)),
    event: { type: "LEASE_DUE" }
  })
} as const

const lostDeadline = {
  type: "schedule",
  params: ({ event }: { readonly event: HostEvent }) => {
    const { at, lostAfterMs = 0 } = event as { at: number; lostAfterMs?: number }
    return { name: "lost", at: Math.ceil(lostSince(at, lostAfterMs)), event: { type: "LOST_DUE" } }
  }
} as const

const retryDeadline = {
  type: "schedule",
  params: ({ context: { retryAt } }: { readonly context: HostContext }) => ({
    name: "canary",
    at: retryAt,
    event: { type: "CANARY_DUE" }
  })
} as const

const canary = {
  type: "canary",
  params: ({ context: { boot } }: { readonly context: HostContext }) => ({ boot })
} as const

/** While it is heard of. */
const watched = {
  JOINED: {
    guard: "isAnotherBoot",
    target: "joining",
    reenter: true,
    actions: ["noteJoined", "noteSeen"],
    description: "Another process of it has taken the place of the one before."
  },
  LEASE_DUE: { actions: [{ type: "lookAtHost" }], description: "It is looked when it was heard of last." },
  SEEN: {
    actions: ["noteSeen", leaseDeadline],
    description: "It was heard of: it is looked again when it could be silent for too long at the earliest."
  },
  SILENT: {
    target: "suspect",
    actions: ["noteSilence", lostDeadline],
    description: "It was silent for too long."
  },
  LEFT: {
    guard: "isThatBoot",
    target: "suspect",
    actions: ["noteLeaving", lostDeadline],
    description: "Its process ended in order. It may come back, and its Sandboxes go on until it is lost."
  }
} as const

/** While Sandboxes there are used. */
const used = {
  UNREACHED: {
    guard: "isThatBoot",
    target: "joining",
    actions: ["noteUnreached"],
    description: "The host sends heartbeats, and no service reaches it: it joins again."
  },
  BOOTS_FAIL: {
    guard: "isThatBoot",
    target: "joining",
    actions: ["noteTime", "noteFailure", retryDeadline],
    description: "It has to show again, after a while, that a Sandbox boots there."
  },
  BOOTS_WORK: { guard: "isDoubtful", actions: ["noteNoFailures"], description: "A Sandbox booted there." }
} as const

const wishes = {
  CORDON: {
    guard: { type: "isNoWish", params: { wish: "cordoned" } },
    actions: [{ type: "noteWish", params: { wish: "cordoned" } }],
    description: "It gets no new Sandboxes, also when it is there again."
  },
  DRAIN: {
    guard: { type: "isNoWish", params: { wish: "draining" } },
    actions: [{ type: "noteWish", params: { wish: "draining" } }],
    description: "It is drained as soon as it is there."
  },
  UNCORDON: {
    guard: { type: "isNoWish", params: { wish: "open" } },
    actions: [{ type: "noteWish", params: { wish: "open" } }],
    description: "It is used as soon as it can be."
  }
} as const

const removal = {
  target: "gone",
  actions: ["noteEnd"],
  description: "The operator gives it up."
} as const

const forcedRemoval = {
  guard: "isForced",
  target: "gone",
  actions: ["noteEnd"],
  description: "The operator gives it up, with whatever runs there."
} as const

/** What it was before, if nothing of that is in doubt. */
const returns = [
  {
    guard: { type: "comesBackTo", params: { state: "ready" } },
    target: "ready",
    actions: ["noteReturn", "noteSeen", leaseDeadline],
    description: "It is heard of again."
  },
  {
    guard: { type: "comesBackTo", params: { state: "cordoned" } },
    target: "cordoned",
    actions: ["noteReturn", "noteSeen", leaseDeadline],
    description: "It is heard of again; the operator wants no new Sandboxes there."
  },
  {
    guard: { type: "comesBackTo", params: { state: "draining" } },
    target: "draining",
    actions: ["noteReturn", "noteSeen", leaseDeadline],
    description: "It is heard of again, and drained further."
  },
  {
    target: "joining",
    actions: ["noteReturn", "noteSeen"],
    description: "The host sends heartbeats again, and joins again."
  }
] as const

export const hostMachine = setup({
  types: {
    input: {} as HostInput,
    context: {} as HostContext,
    events: {} as HostEvent,
    meta: {} as StateMeta,
    tags: {} as Tag
  },
  guards: {
    /** It speaks of the present process of the host. */
    isThatBoot: ({ context, event }) => "boot" in event && event.boot === context.boot,
    /** It speaks of another process of the host. */
    isAnotherBoot: ({ context, event }) => "boot" in event && event.boot !== context.boot,
    /** It speaks of the present process, which was not compared yet, and the operator wants it drained. */
    isToDrain: ({ context, event }) =>
      "boot" in event && event.boot === context.boot && !context.isReconciled && context.wish === "draining",
    /** It speaks of the present process, which was not compared yet, and the next canary has its instant. */
    isToWait: ({ context, event }) =>
      "boot" in event && event.boot === context.boot && !context.isReconciled && context.retryAt !== null,
    /** It speaks of the present process, which was not compared yet. */
    isToProve: ({ context, event }) => "boot" in event && event.boot === context.boot && !context.isReconciled,
    /** Its machines were compared with its Sandboxes. */
    isReconciled: ({ context }) => context.isReconciled,
    /** It speaks of the present process, which was compared. */
    isOfReconciled: ({ context, event }) => "boot" in event && event.boot === context.boot && context.isReconciled,
    /** It speaks of the present process, which was compared and shall be cordoned. */
    isToCordon: ({ context, event }) =>
      "boot" in event && event.boot === context.boot && context.isReconciled && context.wish === "cordoned",
    /** It speaks of the present process, where boots failed. */
    isDoubtful: ({ context, event }) => "boot" in event && event.boot === context.boot && context.failures > 0,
    /** A canary booted there. */
    isProven: ({ context }) => context.isProven,
    /** The operator wishes something else so far. */
    isNoWish: ({ context }, { wish }: { readonly wish: Wish }) => context.wish !== wish,
    /** It was that when it was heard of last, or may be. */
    comesBackTo: ({ context: { isProven, isReconciled, wish } }, { state }: { readonly state: string }) =>
      state === "draining"
        ? isReconciled && wish === "draining"
        : isProven && wish === (state === "ready" ? "open" : "cordoned"),
    /** Some Sandbox could still run there. */
    isNotDrained: ({ context }) => context.reason?.code !== drained.code,
    /** Whatever its state. */
    isForced: ({ event }) => event.type === "REMOVE" && event.isForced
  },
  actions: {
    /**
     * Command: reach the host, compare its machines with its Sandboxes until they agree, and do so again and again; hear what ends there, is held up and
     * is written to consoles. Tells RECONCILED and UNREACHED, and lasts until another command takes its place.
     */
    attend: (_, _params: { readonly boot: string }) => {},
    /** Command: boot a Sandbox of the host's own, run a command in it and remove it. Answers CANARY_PASSED or CANARY_FAILED. */
    canary: (_, _params: { readonly boot: string }) => {},
    /** Command: see when the host was heard of last. Answers SEEN or SILENT. */
    lookAtHost: () => {},
    /** Command: tell its Sandboxes that their host is lost, since when it was not heard of. Answers nothing. */
    loseSandboxes: (_, _params: { readonly seenAt: number }) => {},
    /** Command: stop its Sandboxes, and wait until none runs. Answers DRAINED. */
    drainSandboxes: () => {},
    /** Deadline: replaces an earlier one of the same name; null forgets it. */
    schedule: (
      _,
      _params: {
        readonly name: string
        readonly at: number | null
        readonly event: { readonly type: string } & Record<string, unknown>
      }
    ) => {},
    /** Deadline: forgets it. */
    unschedule: (_, _params: { readonly name: string }) => {},

    noteTime: assign({ updatedAt: ({ event }) => event.at }),
    noteJoined: assign(({ context, event }) => ({
      boot: "boot" in event ? event.boot : context.boot,
      reason: null,
      failures: 0,
      retryAt: null,
      updatedAt: event.at
    })),
    noteSeen: assign(({ context, event }) => ({
      seenAt: "seenAt" in event ? event.seenAt : event.at,
      leaseMs: "leaseMs" in event ? event.leaseMs : context.leaseMs
    })),
    noteReturn: assign(({ event }) => ({ reason: null, updatedAt: event.at })),
    noteSilence: assign(({ context, event }) => ({
      reason: { code: "HOST_SILENT", message: "It was not heard of." },
      failures: 0,
      seenAt: "seenAt" in event ? event.seenAt : context.seenAt,
      updatedAt: event.at
    })),
    noteLeaving: assign(({ event }) => ({
      reason: { code: "HOST_LEFT", message: "Its process ended in order." },
      failures: 0,
      seenAt: event.at,
      updatedAt: event.at
    })),
    noteUnreached: assign(({ context, event }) => ({
      reason: event.type === "UNREACHED" ? event.reason : context.reason,
      isReconciled: false,
      isProven: false,
      updatedAt: event.at
    })),
    noteDoubt: assign({ isReconciled: false, isProven: false }),
    noteReconciled: assign({ isReconciled: true }),
    noteProven: assign(({ event }) => ({ isProven: true, reason: null, updatedAt: event.at })),
    noteFailure: assign(({ context, event }) => {
      const failures = Math.min(context.failures + 1, failuresMax)
      return {
        reason: "reason" in event ? event.reason : context.reason,
        failures,
        retryAt: event.at + retryAfterMs(failures)
      }
    }),
    noteRetry: assign({ retryAt: null }),
    noteNoFailures: assign({ failures: 0 }),
    noteWish: assign((_, { wish }: { readonly wish: Wish }) => ({ wish })),
    noteEnd: assign(({ event }) => ({
      wish: "open" as const,
      reason: null,
      failures: 0,
      isReconciled: false,
      isProven: false,
      updatedAt: event.at,
      endedAt: event.at
    })),
    noteDrained: assign({ reason: drained })
  }
}).createMachine({
  id: "host",
  version: "1",
  description: "A machine that carries Sandboxes, as the services see it.",
  // `input?.`: where only an actor's scope is wanted, one is made of this machine without input, and its context thrown away.
  context: ({ input }) => ({
    hostId: input?.hostId,
    boot: input?.boot,
    wish: "open" as const,
    reason: null,
    failures: 0,
    isReconciled: false,
    isProven: false,
    retryAt: null,
    seenAt: input?.at,
    leaseMs: input?.leaseMs,
    createdAt: input?.at,
    updatedAt: input?.at,
    endedAt: null
  }),
  initial: "joining",
  states: {
    joining: {
      description:
        "It is heard of. Its machines are compared with its Sandboxes, and then a Sandbox of its own has to boot there.",
      tags: ["heard", "silent"],
      meta: { unchanged: ["JOINED", "RECONCILED", "BOOTS_FAIL", "CORDON", "DRAIN", "UNCORDON"], refuses: stale },
      entry: ["noteDoubt", leaseDeadline, { type: "attend", params: ({ context: { boot } }) => ({ boot }) }],
      exit: ["noteRetry", { type: "unschedule", params: { name: "canary" } }],
      on: {
        ...watched,
        RECONCILED: [
          {
            guard: "isToDrain",
            target: "draining",
            actions: ["noteTime", "noteReconciled"],
            description: "It is not used before the operator wants it again: nothing has to boot there."
          },
          {
            guard: "isToWait",
            actions: ["noteReconciled"],
            description: "What it failed at is tried again later."
          },
          { guard: "isToProve", actions: ["noteReconciled", canary], description: "A Sandbox has to boot there." }
        ],
        UNREACHED: {
          guard: "isThatBoot",
          actions: ["noteUnreached"],
          description: "It is heard of, and no service reaches it."
        },
        CANARY_PASSED: [
          {
            guard: "isToCordon",
            target: "cordoned",
            actions: ["noteProven"],
            description: "A Sandbox booted there; the operator wants no new ones."
          },
          { guard: "isOfReconciled", target: "ready", actions: ["noteProven"], description: "A Sandbox booted there." }
        ],
        CANARY_FAILED: {
          guard: "isOfReconciled",
          actions: ["noteFailure", retryDeadline],
          description: "No Sandbox boots there: it is tried again, ever later."
        },
        CANARY_DUE: [
          { guard: "isReconciled", actions: ["noteRetry", canary], description: "It is tried again." },
          { actions: ["noteRetry"], description: "It is tried again once its machines were compared." }
        ],
        CORDON: wishes.CORDON,
        UNCORDON: wishes.UNCORDON,
        DRAIN: [
          {
            guard: "isReconciled",
            target: "draining",
            actions: ["noteTime", { type: "noteWish", params: { wish: "draining" } }],
            description: "It is drained, whether anything boots there or not."
          },
          wishes.DRAIN
        ],
        REMOVE: forcedRemoval
      }
    },
    ready: {
      description: "It gets new Sandboxes, and those that it has can be started.",
      tags: ["placeable", "startable", "heard"],
      meta: { unchanged: ["JOINED", "RECONCILED", "UNCORDON"], refuses: stale },
      on: {
        ...watched,
        ...used,
        CORDON: {
          target: "cordoned",
          actions: ["noteTime", { type: "noteWish", params: { wish: "cordoned" } }],
          description: "It gets no new Sandboxes."
        },
        DRAIN: {
          target: "draining",
          actions: ["noteTime", { type: "noteWish", params: { wish: "draining" } }],
          description: "It gets no new Sandboxes, and those that run are stopped."
        },
        REMOVE: forcedRemoval
      }
    },
    cordoned: {
      description: "It gets no new Sandboxes; those that it has go on, and can be started.",
      tags: ["startable", "heard"],
      meta: { unchanged: ["JOINED", "RECONCILED", "CORDON"], refuses: stale },
      on: {
        ...watched,
        ...used,
        DRAIN: {
          target: "draining",
          actions: ["noteTime", { type: "noteWish", params: { wish: "draining" } }],
          description: "Those that run are stopped."
        },
        UNCORDON: {
          target: "ready",
          actions: ["noteTime", { type: "noteWish", params: { wish: "open" } }],
          description: "It gets new Sandboxes again."
        },
        REMOVE: removal
      }
    },
    draining: {
      description:
        "Its Sandboxes are stopped, with their volumes kept, and none can be started until it is used again.",
      tags: ["emptied", "heard"],
      meta: {
        unchanged: ["JOINED", "RECONCILED", "DRAIN", "DRAINED", "BOOTS_FAIL"],
        refuses: stale
      },
      entry: [{ type: "drainSandboxes" }],
      on: {
        ...watched,
        UNREACHED: used.UNREACHED,
        DRAINED: { guard: "isNotDrained", actions: ["noteDrained"], description: "No Sandbox runs there." },
        CORDON: [
          {
            guard: "isProven",
            target: "cordoned",
            actions: ["noteReturn", { type: "noteWish", params: { wish: "cordoned" } }],
            description: "No more are stopped; it gets no new ones."
          },
          {
            target: "joining",
            actions: ["noteReturn", { type: "noteWish", params: { wish: "cordoned" } }],
            description: "No more are stopped; a Sandbox has to boot there first."
          }
        ],
        UNCORDON: [
          {
            guard: "isProven",
            target: "ready",
            actions: ["noteReturn", { type: "noteWish", params: { wish: "open" } }],
            description: "It is used again."
          },
          {
            target: "joining",
            actions: ["noteReturn", { type: "noteWish", params: { wish: "open" } }],
            description: "It is used again once a Sandbox has booted there."
          }
        ],
        REMOVE: removal
      }
    },
    suspect: {
      description:
        "It was silent for too long, or left: it gets no new Sandboxes, and its Sandboxes are believed to go on.",
      tags: ["silent"],
      meta: {
        unchanged: ["RECONCILED", "CORDON", "DRAIN", "UNCORDON"],
        refuses: stale
      },
      entry: [{ type: "unschedule", params: { name: "lease" } }],
      exit: [{ type: "unschedule", params: { name: "lost" } }],
      on: {
        JOINED: [watched.JOINED, ...returns],
        SEEN: returns,
        UNREACHED: {
          guard: "isThatBoot",
          actions: ["noteDoubt"],
          description: "No service reaches it either: it joins again at its next heartbeat."
        },
        LOST_DUE: { actions: [{ type: "lookAtHost" }], description: "It is looked once more whether it was heard of." },
        SILENT: {
          target: "lost",
          actions: ["noteSilence"],
          description: "It was silent for longer than anything is believed."
        },
        ...wishes,
        REMOVE: forcedRemoval
      }
    },
    lost: {
      description:
        "Nobody knows what became of it. Its Sandboxes count as stopped since it was last heard of; their volumes are there if it comes back.",
      tags: ["absent"],
      meta: { unchanged: ["CORDON", "DRAIN", "UNCORDON"], refuses: stale },
      entry: [{ type: "loseSandboxes", params: ({ context: { seenAt } }) => ({ seenAt }) }],
      on: {
        JOINED: {
          target: "joining",
          actions: ["noteJoined", "noteSeen"],
          description: "It is back: what runs there and shall not is ended before anything else."
        },
        SEEN: {
          target: "joining",
          actions: ["noteReturn", "noteSeen"],
          description: "It is heard of again: what runs there and shall not is ended before anything else."
        },
        ...wishes,
        REMOVE: removal
      }
    },
    gone: {
      type: "final",
      description: "Given up by the operator, with the volumes that were there. Its id never comes back.",
      tags: ["absent", "removed"],
      meta: {
        unchanged: ["REMOVE"],
        refuses: {
          ...stale,
          JOINED: "HOST_GONE",
          CORDON: "HOST_GONE",
          DRAIN: "HOST_GONE",
          UNCORDON: "HOST_GONE"
        }
      },
      entry: [
        { type: "loseSandboxes", params: ({ context: { seenAt } }) => ({ seenAt }) },
        { type: "unschedule", params: { name: "lease" } }
      ]
    }
  }
})
