/**
 * The life of one Sandbox: a volume, and a runtime that boots, stops and boots again until the Sandbox is deleted.
 *
 * State names are the contract's statuses. Every event carries `at` (epoch milliseconds, from the host's clock); events from
 * the runtime also carry the generation that they speak of, so that a late or repeated one is recognised and refused.
 * Actions are commands: the host stores them with the transition and interprets them afterwards (`src/sandbox/`).
 *
 * `meta.unchanged` lists events that a state answers with itself; `meta.refuses` gives the typed reason for the others.
 *
 * @source contract.md "States and transitions", contract-details.md "Behaviour that the contract leaves open"
 */
import { assign, setup } from "xstate"
import type { StateMeta } from "./meta.ts"

export interface Reason {
  readonly code: string
  readonly message: string
}

export interface SandboxInput {
  readonly sandboxId: string
  readonly accountId: string
  readonly workspaceId: string
  readonly volumeId: string
  readonly name: string | null
  readonly runtime: "vm" | "namespace"
  readonly profile: { readonly vcpus: number; readonly memoryBytes: number; readonly diskBytes: number }
  readonly networkEnabled: boolean
  readonly metadata: Readonly<Record<string, string>>
  /** How long one boot may take before it counts as failed. */
  readonly bootTimeoutMs: number
  readonly at: number
}

export interface SandboxContext extends Omit<SandboxInput, "at"> {
  /** 1 for the first boot, +1 for each later one. */
  readonly generation: number
  /** A start that arrived while stopping; it boots as soon as the runtime has stopped. */
  readonly startRequested: boolean
  readonly statusReason: Reason | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly startedAt: number | null
  readonly stoppedAt: number | null
  readonly deletedAt: number | null
}

export type SandboxEvent =
  /** A client asks for a running runtime. */
  | { readonly type: "START"; readonly at: number }
  /** A client asks to end the runtime and keep the volume; or, with a reason, the service does by itself. */
  | { readonly type: "STOP"; readonly at: number; readonly reason?: Reason }
  /** A client asks to end the Sandbox and its volume. */
  | { readonly type: "DELETE"; readonly at: number }
  /** The service asks to freeze an idle runtime. */
  | { readonly type: "SLEEP"; readonly at: number }
  /** The runtime of this generation answers. */
  | { readonly type: "RUNTIME_UP"; readonly at: number; readonly generation: number }
  /** The host refuses the boot because of a limit. */
  | { readonly type: "RUNTIME_REFUSED"; readonly at: number; readonly generation: number; readonly reason: Reason }
  /** The boot failed for good. */
  | { readonly type: "RUNTIME_FAILED"; readonly at: number; readonly generation: number; readonly reason: Reason }
  /** The runtime ended by itself; `seenAt` (epoch milliseconds) is the last moment at which it was seen alive, where that is known. */
  | {
      readonly type: "RUNTIME_DOWN"
      readonly at: number
      readonly generation: number
      readonly reason: Reason
      readonly seenAt?: number
    }
  /** A runtime of this Sandbox was found on the host, which nobody may have asked for. */
  | { readonly type: "RUNTIME_FOUND"; readonly at: number }
  /** The host holds the runtime up, with nothing lost. */
  | { readonly type: "RUNTIME_STALLED"; readonly at: number; readonly generation: number; readonly reason: Reason }
  /** A runtime that was held up goes on. */
  | { readonly type: "RUNTIME_RESUMED"; readonly at: number; readonly generation: number }
  /** The runtime was ended as asked. */
  | { readonly type: "RUNTIME_STOPPED"; readonly at: number; readonly generation: number }
  /** The runtime could not be frozen, or not be seen to be. */
  | { readonly type: "SUSPEND_FAILED"; readonly at: number; readonly generation: number; readonly reason: Reason }
  /** Somebody used it, or uses it; before `until` (epoch milliseconds) it cannot have been idle for long enough. */
  | { readonly type: "IN_USE"; readonly at: number; readonly until: number }
  /** The instant that IN_USE named has come. */
  | { readonly type: "IDLE_DUE"; readonly at: number }
  /** Runtime and volume exist no more. */
  | { readonly type: "VOLUME_GONE"; readonly at: number }
  /** The deadline of a boot passed. */
  | { readonly type: "BOOT_TIMEOUT"; readonly at: number; readonly generation: number }

const late = {
  RUNTIME_UP: "STALE_RUNTIME_EVENT",
  RUNTIME_REFUSED: "STALE_RUNTIME_EVENT",
  RUNTIME_FAILED: "STALE_RUNTIME_EVENT",
  RUNTIME_DOWN: "STALE_RUNTIME_EVENT",
  RUNTIME_FOUND: "STALE_RUNTIME_EVENT",
  RUNTIME_STALLED: "STALE_RUNTIME_EVENT",
  RUNTIME_RESUMED: "STALE_RUNTIME_EVENT",
  RUNTIME_STOPPED: "STALE_RUNTIME_EVENT",
  SUSPEND_FAILED: "STALE_RUNTIME_EVENT",
  IN_USE: "STALE_RUNTIME_EVENT",
  IDLE_DUE: "STALE_DEADLINE",
  VOLUME_GONE: "STALE_RUNTIME_EVENT",
  BOOT_TIMEOUT: "STALE_DEADLINE"
}

export const sandboxMachine = setup({
  types: {
    input: {} as SandboxInput,
    context: {} as SandboxContext,
    events: {} as SandboxEvent,
    meta: {} as StateMeta,
    tags: {} as "counted" | "inhabited" | "alive" | "runtimeless" | "ended" | "removed" | "notStarting"
  },
  guards: {
    /** It speaks of the present generation. */
    isCurrent: ({ context, event }) => "generation" in event && event.generation === context.generation,
    /** It speaks of the first generation, which has never run. */
    isFirstBoot: ({ context, event }) =>
      context.generation === 1 &&
      context.startedAt === null &&
      "generation" in event &&
      event.generation === context.generation,
    /** It speaks of the present generation, and the host was said to hold that up. */
    isHeldUp: ({ context, event }) =>
      context.statusReason !== null && "generation" in event && event.generation === context.generation,
    /** The service stops by itself what a client has just asked to start. */
    overrulesStart: ({ context, event }) =>
      context.startRequested && event.type === "STOP" && event.reason !== undefined,
    /** It speaks of the present generation, and a start waits for its end. */
    restartsAfterStop: ({ context, event }) =>
      context.startRequested && "generation" in event && event.generation === context.generation
  },
  actions: {
    /** Command: make the volume if needed and boot this generation; wakes a frozen one. Answers RUNTIME_UP, RUNTIME_REFUSED or RUNTIME_FAILED. */
    provision: (_, _params: { readonly generation: number }) => {},
    /** Command: end the runtime, keep the volume. Answers RUNTIME_STOPPED. */
    stopRuntime: (_, _params: { readonly generation: number }) => {},
    /** Command: see when the Sandbox was last used. Answers IN_USE, SLEEP, or nothing where Sandboxes do not sleep. */
    lookAtUse: () => {},
    /** Command: freeze the runtime, unless it is used after all. Answers SUSPEND_FAILED, or nothing. */
    suspendRuntime: (_, _params: { readonly generation: number }) => {},
    /** Command: end the runtime and remove the volume, retried until done. Answers VOLUME_GONE. */
    destroyRuntime: () => {},
    /** Command: post what it has cost and costs from now on, and let its account's wallet know. Answers nothing. */
    meter: () => {},
    /** Command: everything that lives in this Sandbox, since this generation or one before, learns that it is gone. */
    closeDependents: (
      _,
      _params: { readonly code: string; readonly message: string; readonly generation: number }
    ) => {},
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

    noteTime: assign({ updatedAt: ({ event }) => event.at }),
    noteReason: assign({ statusReason: ({ event }) => ("reason" in event ? (event.reason ?? null) : null) }),
    noteBootTimeout: assign({
      statusReason: ({ context }) => ({
        code: "BOOT_TIMEOUT",
        message: `The Sandbox did not answer within ${context.bootTimeoutMs} ms of its boot.`
      })
    }),
    clearReason: assign({ statusReason: null }),
    nextGeneration: assign({
      generation: ({ context }) => context.generation + 1,
      startRequested: false,
      statusReason: null,
      stoppedAt: null
    }),
    noteStarted: assign({ startedAt: ({ event }) => event.at, stoppedAt: null, statusReason: null }),
    noteStopped: assign({ stoppedAt: ({ event }) => event.at, startRequested: false }),
    noteDeleted: assign({ deletedAt: ({ event }) => event.at, statusReason: null }),
    requestStart: assign({ startRequested: true }),
    withdrawStart: assign({ startRequested: false })
  }
}).createMachine({
  id: "sandbox",
  version: "1",
  description: "One Sandbox, from its durable acceptance to the end of its volume.",
  // `input?.`: where only an actor's scope is wanted, one is made of this machine without input, and its context thrown away.
  context: ({ input }) => ({
    sandboxId: input?.sandboxId,
    accountId: input?.accountId,
    workspaceId: input?.workspaceId,
    volumeId: input?.volumeId,
    name: input?.name,
    runtime: input?.runtime,
    profile: input?.profile,
    networkEnabled: input?.networkEnabled,
    metadata: input?.metadata,
    bootTimeoutMs: input?.bootTimeoutMs,
    generation: 1,
    startRequested: false,
    statusReason: null,
    createdAt: input?.at,
    updatedAt: input?.at,
    startedAt: null,
    stoppedAt: null,
    deletedAt: null
  }),
  initial: "pending",
  states: {
    pending: {
      description: "Accepted durably; a runtime of the current generation is being made, booted or woken.",
      tags: ["counted", "inhabited"],
      meta: {
        unchanged: ["START"],
        refuses: { ...late, SLEEP: "SANDBOX_NOT_RUNNING" }
      },
      entry: [
        { type: "provision", params: ({ context }) => ({ generation: context.generation }) },
        {
          type: "schedule",
          params: ({ context }) => ({
            name: "boot",
            at: Math.ceil(context.updatedAt + context.bootTimeoutMs),
            event: { type: "BOOT_TIMEOUT", generation: context.generation }
          })
        }
      ],
      exit: [{ type: "unschedule", params: { name: "boot" } }],
      on: {
        RUNTIME_UP: {
          guard: "isCurrent",
          target: "running",
          actions: ["noteTime", "noteStarted"],
          description: "The runtime answers."
        },
        RUNTIME_REFUSED: [
          {
            guard: "isFirstBoot",
            target: "expired",
            actions: ["noteTime", "noteReason"],
            description: "A limit refuses the first boot."
          },
          {
            guard: "isCurrent",
            target: "stopping",
            actions: ["noteTime", "noteReason"],
            description: "A limit refuses a later boot or a waking; what is left of it is ended, the volume stays."
          }
        ],
        RUNTIME_FAILED: [
          {
            guard: "isFirstBoot",
            target: "failed",
            actions: ["noteTime", "noteReason"],
            description: "The first boot failed."
          },
          {
            guard: "isCurrent",
            target: "stopping",
            actions: ["noteTime", "noteReason"],
            description: "A later boot failed; what is left of it is ended, the volume stays."
          }
        ],
        BOOT_TIMEOUT: [
          {
            guard: "isFirstBoot",
            target: "failed",
            actions: ["noteTime", "noteBootTimeout"],
            description: "The first boot took too long."
          },
          {
            guard: "isCurrent",
            target: "stopping",
            actions: ["noteTime", "noteBootTimeout"],
            description: "A later boot took too long."
          }
        ],
        RUNTIME_DOWN: {
          guard: "isCurrent",
          target: "stopping",
          actions: ["noteTime", "noteReason"],
          description: "The runtime ended before it answered."
        },
        STOP: { target: "stopping", actions: ["noteTime", "noteReason"], description: "Stopped while it booted." },
        DELETE: { target: "deleting", actions: ["noteTime"], description: "Deleted while it booted." }
      }
    },
    running: {
      description:
        "The runtime answers; commands, files and connections work. Nobody using it for long enough lets it sleep.",
      tags: ["counted", "inhabited", "alive", "notStarting"],
      meta: { unchanged: ["START"], refuses: late },
      entry: [{ type: "lookAtUse" }, { type: "meter" }],
      exit: [{ type: "unschedule", params: { name: "idle" } }, { type: "meter" }],
      on: {
        STOP: {
          target: "stopping",
          actions: ["noteTime", "noteReason"],
          description: "A client stops it, or the service, which says why."
        },
        DELETE: { target: "deleting", actions: ["noteTime"], description: "A client deletes it." },
        SLEEP: { target: "sleeping", actions: ["noteTime"], description: "It was idle long enough." },
        IN_USE: {
          actions: [
            {
              type: "schedule",
              params: ({ event }) => ({ name: "idle", at: Math.ceil(event.until), event: { type: "IDLE_DUE" } })
            }
          ],
          description: "It was used; it is looked at again when it could be idle at the earliest."
        },
        IDLE_DUE: { actions: [{ type: "lookAtUse" }], description: "It could be idle by now." },
        RUNTIME_DOWN: {
          guard: "isCurrent",
          target: "stopping",
          actions: ["noteTime", "noteReason"],
          description: "The runtime ended by itself; what is left of it is cleaned up, the volume stays."
        },
        RUNTIME_STALLED: {
          guard: "isCurrent",
          actions: ["noteTime", "noteReason"],
          description: "The host holds it up; it goes on by itself, and the reason tells so until then."
        },
        RUNTIME_RESUMED: { guard: "isHeldUp", actions: ["noteTime", "clearReason"], description: "It goes on." }
      }
    },
    sleeping: {
      description: "The runtime is frozen to disk with its processes; a start wakes the same generation.",
      tags: ["counted", "inhabited", "alive", "notStarting"],
      meta: { unchanged: ["SLEEP"], refuses: late },
      entry: [{ type: "suspendRuntime", params: ({ context }) => ({ generation: context.generation }) }],
      on: {
        START: { target: "pending", actions: ["noteTime", "clearReason"], description: "Woken." },
        STOP: { target: "stopping", actions: ["noteTime", "noteReason"], description: "Stopped in its sleep." },
        DELETE: { target: "deleting", actions: ["noteTime"], description: "Deleted in its sleep." },
        SUSPEND_FAILED: {
          guard: "isCurrent",
          target: "pending",
          actions: ["noteTime"],
          description: "Freezing it failed, and how far it came is unknown: the same generation is made to run again."
        },
        RUNTIME_DOWN: {
          guard: "isCurrent",
          target: "stopping",
          actions: ["noteTime", "noteReason"],
          description: "The frozen runtime was lost."
        }
      }
    },
    stopping: {
      description: "The runtime is being ended; the volume stays.",
      tags: ["counted"],
      meta: {
        unchanged: [],
        refuses: { ...late, SLEEP: "SANDBOX_NOT_RUNNING" }
      },
      entry: [
        {
          type: "closeDependents",
          params: ({ context: { statusReason, generation }, event }) => {
            if (statusReason === null) {
              return { code: "SANDBOX_STOPPED", message: "The Sandbox was stopped.", generation }
            }
            return event.type === "STOP"
              ? { code: statusReason.code, message: `The Sandbox was stopped: ${statusReason.message}`, generation }
              : { code: "SANDBOX_LOST", message: `The Sandbox's runtime ended: ${statusReason.message}`, generation }
          }
        },
        { type: "stopRuntime", params: ({ context }) => ({ generation: context.generation }) }
      ],
      on: {
        RUNTIME_STOPPED: [
          {
            guard: "restartsAfterStop",
            target: "pending",
            actions: ["noteTime", "nextGeneration"],
            description: "Ended, and a start waits: boots again."
          },
          { guard: "isCurrent", target: "stopped", actions: ["noteTime", "noteStopped"], description: "Ended." }
        ],
        START: { actions: ["noteTime", "requestStart"], description: "Boots again once the runtime has ended." },
        STOP: [
          {
            guard: "overrulesStart",
            actions: ["noteTime", "withdrawStart", "noteReason"],
            description: "The service does not let it boot again, and says why."
          },
          { actions: ["noteTime", "withdrawStart"], description: "Stays stopped after all." }
        ],
        DELETE: { target: "deleting", actions: ["noteTime"], description: "Deleted while stopping." }
      }
    },
    stopped: {
      description: "No runtime; the volume is kept. Counts toward the account's limits.",
      tags: ["counted", "runtimeless", "ended", "notStarting"],
      meta: { unchanged: ["STOP"], refuses: { ...late, SLEEP: "SANDBOX_NOT_RUNNING" } },
      on: {
        START: {
          target: "pending",
          actions: ["noteTime", "nextGeneration"],
          description: "Boots the next generation."
        },
        RUNTIME_FOUND: {
          actions: [{ type: "stopRuntime", params: ({ context }) => ({ generation: context.generation }) }],
          description: "None should run: it is ended."
        },
        DELETE: { target: "deleting", actions: ["noteTime"], description: "Deleted." }
      }
    },
    expired: {
      description: "A limit refused the first boot; nothing of it is kept but this record.",
      tags: ["removed", "ended", "notStarting"],
      meta: {
        unchanged: [],
        refuses: { ...late, START: "SANDBOX_EXPIRED", STOP: "SANDBOX_EXPIRED", SLEEP: "SANDBOX_EXPIRED" }
      },
      on: { DELETE: { target: "deleting", actions: ["noteTime"], description: "Deleted." } }
    },
    failed: {
      description: "The first boot failed; what is left of it goes with the deletion.",
      tags: ["counted", "runtimeless", "notStarting"],
      meta: {
        unchanged: [],
        refuses: { ...late, START: "SANDBOX_FAILED", STOP: "SANDBOX_FAILED", SLEEP: "SANDBOX_FAILED" }
      },
      entry: [{ type: "stopRuntime", params: ({ context }) => ({ generation: context.generation }) }],
      on: {
        RUNTIME_FOUND: {
          actions: [{ type: "stopRuntime", params: ({ context }) => ({ generation: context.generation }) }],
          description: "None should run: it is ended."
        },
        DELETE: { target: "deleting", actions: ["noteTime"], description: "Deleted." }
      }
    },
    deleting: {
      description: "Runtime and volume are being removed, retried until they are gone. Nothing leads back.",
      tags: ["counted", "notStarting"],
      meta: {
        unchanged: ["DELETE"],
        refuses: { ...late, START: "SANDBOX_DELETED", STOP: "SANDBOX_DELETED", SLEEP: "SANDBOX_DELETED" }
      },
      entry: [
        {
          type: "closeDependents",
          params: ({ context: { generation } }) => ({
            code: "SANDBOX_DELETED",
            message: "The Sandbox was deleted.",
            generation
          })
        },
        { type: "destroyRuntime" }
      ],
      on: {
        VOLUME_GONE: { target: "deleted", actions: ["noteTime", "noteDeleted"], description: "Nothing is left." }
      }
    },
    deleted: {
      type: "final",
      description: "Gone. The record, its log and its finished operations stay readable for the retention time.",
      tags: ["removed", "ended", "notStarting"],
      entry: [{ type: "meter" }],
      meta: {
        unchanged: ["DELETE"],
        refuses: { ...late, START: "SANDBOX_DELETED", STOP: "SANDBOX_DELETED", SLEEP: "SANDBOX_DELETED" }
      }
    }
  }
})
