/**
 * The life of one Operation: a command in a Sandbox with exactly one terminal result.
 *
 * `completed`, `cancelled` and `failed` are terminal: status, exitCode, signal, reason and finishedAt never change again.
 * Only the account of what is left of the process tree may still settle, so these states are not XState-final.
 * Output never passes through here; `EXITED` comes only after all of it is stored.
 *
 * @source contract.md "Operation rules", contract-details.md "Fine print"
 */
import { assign, setup } from "xstate"
import type { OperationContext } from "../schemas/contexts/Operation.ts"
import type { PublicReason } from "../schemas/PublicText.ts"
import type { Reason } from "../schemas/Sandbox.ts"
import type { StateMeta } from "./meta.ts"

export interface OperationInput
  extends Pick<OperationContext, "operationId" | "accountId" | "sandboxId" | "generation" | "timeoutMs"> {
  readonly at: number
}

/** The name of a command that an earlier version stored: until then one command started the process and followed it. */
export const presentCommand = (state: string, command: string): string =>
  command !== "runProcess" ? command : state === "queued" ? "startProcess" : "followProcess"

/** Whether all output is stored and what is left of the process tree is known: nothing of it changes any more. */
export const isSettled = (state: string, { processTree }: Pick<OperationContext, "processTree">): boolean =>
  state === "completed" || ((state === "cancelled" || state === "failed") && processTree !== "running")

/** As clients see it. While it waits, this is not known: a process may be starting whose start is not committed yet. */
export const shownProcessTree = (
  state: string,
  { processTree }: Pick<OperationContext, "processTree">
): OperationContext["processTree"] => (state === "queued" ? "unconfirmed" : processTree)

const ended = {
  stopped: { code: "SANDBOX_STOPPED", message: "The Sandbox stopped while the command ran or waited." },
  restarted: {
    code: "SANDBOX_RESTARTED",
    message: "The Sandbox was started again; the command's outcome is unknown."
  },
  deleted: { code: "SANDBOX_DELETED", message: "The Sandbox no longer exists." }
}

/**
 * Why an operation is lost whose generation of the Sandbox is over.
 *
 * @param sandboxTags Those of the state in which the Sandbox is instead; none: there is no Sandbox.
 */
export const lostReason = (sandboxTags: ReadonlyArray<string>): Reason => {
  if (!sandboxTags.includes("restartable")) return ended.deleted
  return sandboxTags.includes("up") ? ended.restarted : ended.stopped
}

export type OperationEvent =
  /** The guest runs the command. */
  | { readonly type: "STARTED"; readonly at: number }
  /** The command cannot be started for a reason of its own. */
  | { readonly type: "REFUSED"; readonly at: number; readonly reason: PublicReason }
  /** The command ended and all its output is stored. */
  | {
      readonly type: "EXITED"
      readonly at: number
      readonly exitCode: number | null
      readonly signal: string | null
      /** Why it was killed, where that is known. Absent in events of before there was one. */
      readonly reason?: PublicReason | null
      readonly processTree: "running" | "gone" | "unconfirmed"
    }
  /** A client cancels. */
  | { readonly type: "CANCEL"; readonly at: number }
  /** The Sandbox that ran it stopped, was deleted or is lost: the outcome is unknown. */
  | { readonly type: "LOST"; readonly at: number; readonly reason: PublicReason }
  /** Its own time-out passed, by its deadline or by the guest's clock. */
  | { readonly type: "TIME_OUT"; readonly at: number }
  /** What is left of the process tree after the end. */
  | { readonly type: "TREE_SETTLED"; readonly at: number; readonly processTree: "running" | "gone" | "unconfirmed" }

const terminal = {
  STARTED: "OPERATION_TERMINAL",
  REFUSED: "OPERATION_TERMINAL",
  EXITED: "OPERATION_TERMINAL",
  LOST: "OPERATION_TERMINAL",
  TIME_OUT: "STALE_DEADLINE"
}

export const operationMachine = setup({
  types: {
    input: {} as OperationInput,
    context: {} as OperationContext,
    events: {} as OperationEvent,
    meta: {} as StateMeta,
    tags: {} as "open" | "waiting" | "terminal" | "withdrawn"
  },
  guards: {
    /** Something of its process tree may still run. */
    isTreeUnsettled: ({ context }) => context.processTree === "running",
    /** It has a time-out of its own. */
    hasTimeout: ({ context }) => context.timeoutMs !== null
  },
  actions: {
    /** Command: start the command in the guest, once, and after all commands that were accepted before it. Answers STARTED, REFUSED, LOST. */
    startProcess: () => {},
    /** Command: store the command's output and report its end. Runs for as long as the command does. Answers EXITED, TIME_OUT, LOST. */
    followProcess: () => {},
    /** Command: end the whole tree, TERM then KILL, and store what output is left; or see its Sandbox's runtime end. Answers TREE_SETTLED. */
    endProcess: () => {},
    /** Command: the guest and the store may forget what was only needed to run it. */
    forgetProcess: () => {},
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

    noteStarted: assign({ startedAt: ({ event }) => event.at }),
    noteExit: assign(({ event }) =>
      event.type === "EXITED"
        ? {
            exitCode: event.exitCode,
            signal: event.signal,
            reason: event.reason ?? null,
            processTree: event.processTree,
            finishedAt: event.at
          }
        : {}
    ),
    noteStartedIfUnseen: assign({ startedAt: ({ context, event }) => context.startedAt ?? event.at }),
    noteFinished: assign({ finishedAt: ({ event }) => event.at }),
    noteReason: assign({ reason: ({ event }) => ("reason" in event ? event.reason : null) }),
    /** The guest itself said that it started nothing. What else is left of a tree is only ever told by TREE_SETTLED or EXITED. */
    noteNeverRan: assign({ processTree: "gone" }),
    noteTimedOut: assign({
      reason: ({ context }) => ({
        code: "TIMED_OUT",
        message: `The command did not end within its time-out of ${(context.timeoutMs ?? 0) / 1000} s.`
      })
    }),
    noteTree: assign(({ event }) => (event.type === "TREE_SETTLED" ? { processTree: event.processTree } : {}))
  }
}).createMachine({
  id: "operation",
  version: "1",
  description: "One command in a Sandbox, observable until after its end.",
  // `input?.`: where only an actor's scope is wanted, one is made of this machine without input, and its context thrown away.
  context: ({ input }) => ({
    operationId: input?.operationId,
    accountId: input?.accountId,
    sandboxId: input?.sandboxId,
    generation: input?.generation,
    timeoutMs: input?.timeoutMs,
    createdAt: input?.at,
    startedAt: null,
    finishedAt: null,
    exitCode: null,
    signal: null,
    reason: null,
    processTree: "running"
  }),
  initial: "queued",
  states: {
    queued: {
      description: "Accepted durably; it waits for its turn, and the guest does not run it yet.",
      tags: ["open", "waiting"],
      meta: { unchanged: [], refuses: { TREE_SETTLED: "OPERATION_NOT_TERMINAL", TIME_OUT: "STALE_DEADLINE" } },
      entry: [{ type: "startProcess" }],
      on: {
        STARTED: [
          {
            guard: "hasTimeout",
            target: "running",
            actions: [
              "noteStarted",
              {
                type: "schedule",
                params: ({ context, event }) => ({
                  name: "timeout",
                  at: Math.ceil(event.at + (context.timeoutMs ?? 0)),
                  event: { type: "TIME_OUT" }
                })
              }
            ],
            description: "The guest runs it; its time-out begins."
          },
          { target: "running", actions: ["noteStarted"], description: "The guest runs it." }
        ],
        REFUSED: {
          target: "failed",
          actions: ["noteReason", "noteFinished", "noteNeverRan"],
          description: "It cannot be started."
        },
        EXITED: {
          target: "completed",
          actions: ["noteStartedIfUnseen", "noteExit"],
          description: "Ended before its start was seen."
        },
        CANCEL: { target: "cancelled", actions: ["noteFinished"], description: "Cancelled before its start was seen." },
        LOST: {
          target: "failed",
          actions: ["noteReason", "noteFinished"],
          description: "Its Sandbox is gone."
        }
      }
    },
    running: {
      description: "The command runs in the guest; its output is being stored.",
      tags: ["open"],
      meta: {
        unchanged: ["STARTED"],
        refuses: {
          TREE_SETTLED: "OPERATION_NOT_TERMINAL",
          REFUSED: "OPERATION_STARTED",
          TIME_OUT: "STALE_DEADLINE"
        }
      },
      entry: [{ type: "followProcess" }],
      exit: [{ type: "unschedule", params: { name: "timeout" } }],
      on: {
        EXITED: { target: "completed", actions: ["noteExit"], description: "It ended and all its output is stored." },
        CANCEL: { target: "cancelled", actions: ["noteFinished"], description: "Cancellation came first." },
        TIME_OUT: {
          guard: "hasTimeout",
          target: "failed",
          actions: ["noteTimedOut", "noteFinished"],
          description: "Its own time-out passed."
        },
        LOST: {
          target: "failed",
          actions: ["noteReason", "noteFinished"],
          description: "Its Sandbox is gone."
        }
      }
    },
    completed: {
      description: "The command ended by itself; a non-zero exit is still completed.",
      tags: ["terminal"],
      meta: { unchanged: ["CANCEL"], refuses: { ...terminal, TREE_SETTLED: "TREE_ALREADY_SETTLED" } },
      entry: [{ type: "forgetProcess" }]
    },
    cancelled: {
      description: "A client ended it before it completed.",
      tags: ["terminal", "withdrawn"],
      meta: { unchanged: ["CANCEL"], refuses: { ...terminal, TREE_SETTLED: "TREE_ALREADY_SETTLED" } },
      entry: [{ type: "endProcess" }],
      on: {
        TREE_SETTLED: {
          guard: "isTreeUnsettled",
          actions: ["noteTree", { type: "forgetProcess" }],
          description: "The account of its process tree is final."
        }
      }
    },
    failed: {
      description: "The outcome is unknown, or it never ran, or it ran out of time; reason says which.",
      tags: ["terminal"],
      meta: { unchanged: ["CANCEL"], refuses: { ...terminal, TREE_SETTLED: "TREE_ALREADY_SETTLED" } },
      entry: [{ type: "endProcess" }],
      on: {
        TREE_SETTLED: {
          guard: "isTreeUnsettled",
          actions: ["noteTree", { type: "forgetProcess" }],
          description: "The account of its process tree is final."
        }
      }
    }
  }
})
