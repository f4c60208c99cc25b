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
import type { SandboxContext } from "../schemas/contexts/Sandbox.ts"
import {
  answeredCheckpoint,
  checkpointAfter,
  checkpointAnswered,
  checkpointAtRest,
  checkpointDeadline,
  checkpointDue,
  checkpointDueAtRest,
  isCheckpointedAtStop
} from "./checkpoints.ts"
import type { StateMeta } from "./meta.ts"
import type { SandboxEvent } from "./sandboxEvents.ts"
import { late, notRunning, over } from "./sandboxRefusals.ts"

export interface SandboxInput
  extends Pick<
    SandboxContext,
    | "sandboxId"
    | "accountId"
    | "workspaceId"
    | "volumeId"
    | "hostId"
    | "name"
    | "runtime"
    | "profile"
    | "networkEnabled"
    | "metadata"
    | "env"
    | "lifetime"
    | "bootTimeoutMs"
    | "snapshotId"
    | "image"
  > {
  /** Absent: none are taken, as of a Sandbox of before version 5. */
  readonly checkpoints?: SandboxContext["checkpoints"]
  /** Absent: null, as of a Sandbox of before version 6. */
  readonly buildsImageId?: SandboxContext["buildsImageId"]
  readonly at: number
}

const after = (at: number | null, seconds: number | null | undefined): number | null =>
  at === null || seconds === null || seconds === undefined ? null : Math.ceil(at + seconds * 1000)

/** Whether a transition begins the next generation: a Sandbox that sleeps wakes to its own. */
export const beginsGeneration = (from: string | null, to: string): boolean =>
  to === "pending" && from !== null && from !== "sleeping" && from !== to

/** It boots for the first time. Nothing of a Sandbox whose first boot is refused is kept, nor its room. */
export const hasNeverRun = ({ generation, startedAt }: SandboxContext): boolean =>
  generation === 1 && startedAt === null

/** The result of a create, as far as it is known. */
export const createOutcome = (state: string): "waits" | "refused" | "made" =>
  state === "pending" ? "waits" : state === "expired" ? "refused" : "made"

/** It has never run, so its volume may still have to be made of its snapshot. */
export const originOf = ({ snapshotId, startedAt }: SandboxContext): string | null =>
  startedAt === null ? snapshotId : null

/** A rollback that is under way: its snapshot is still needed. Null: there is none. */
export const openRollback = ({ rollback }: Pick<SandboxContext, "rollback">): SandboxContext["rollback"] =>
  rollback?.outcome === "open" ? rollback : null

/** Commands that do nothing at the Sandbox's host: a Sandbox for which only these are pending is not busy there. */
export const bookkeeping = ["meter"] as const

export const hostLostCode = "HOST_LOST"

/** The codes of RUNTIME_REFUSED. */
const limitCodes: ReadonlyArray<string> = ["HOST_FULL", "STORAGE_LIMIT_REACHED", "SANDBOX_LIMIT_REACHED"]

/** Why a start left the Sandbox stopped; null: it did not, or for another reason. */
export const startObstacle = (state: string, reason: { readonly code: string } | null): "limit" | "hostLost" | null => {
  if (state !== "stopped" || reason === null) return null
  return limitCodes.includes(reason.code) ? "limit" : reason.code === hostLostCode ? "hostLost" : null
}

/** When it is stopped because it has run for long enough, in epoch milliseconds; null: no such end is in sight. */
export const stopsAt = ({ upAt, lifetime }: Pick<SandboxContext, "upAt" | "lifetime">): number | null =>
  after(upAt, lifetime?.stopAfterSeconds)

/** Of one that is stopped or failed: when it is deleted, in epoch milliseconds; null: nobody knows. */
export const deletesAt = ({ updatedAt, lifetime }: Pick<SandboxContext, "updatedAt" | "lifetime">): number | null =>
  after(updatedAt, lifetime?.deleteAfterStoppedSeconds)

/** What a state means to other code (`src/sandbox/sandboxStates.ts`, and the console). */
type Tag =
  /** The Sandbox counts toward limits and quotas. */
  | "counted"
  /** Processes of its generation may be there, or come back. */
  | "inhabited"
  /** Its host has a runtime of its generation. */
  | "alive"
  /** The runtime answers. */
  | "up"
  /** The runtime is frozen. */
  | "asleep"
  /** A use of the Sandbox waits until the runtime answers. */
  | "awaited"
  /** A start changes something immediately. */
  | "startable"
  /** A runtime is there or can be there again. */
  | "restartable"
  /** No start is under way, nor will be unless somebody asks. */
  | "notStarting"
  /** There is no runtime, and the host shall have none. The lifetime may delete the Sandbox. */
  | "runtimeless"
  /** The runtime was seen to end. */
  | "ended"
  /** The volume is not there, or not for long. */
  | "volumeless"
  /** The volume is whole, and no command changes that it is there. */
  | "capturable"
  /** The volume is being replaced. */
  | "restoring"
  /** The first boot failed: only a deletion is possible. */
  | "broken"
  /** Nothing of the Sandbox is on the host, or shall be. */
  | "removed"
  /** Clients are told that there is no such Sandbox. */
  | "gone"

interface OfContext {
  readonly context: SandboxContext
}

/** Most commands name the generation that they are for. */
const ofGeneration = ({ context }: OfContext) => ({ generation: context.generation })

const bootDeadline = ({ generation }: SandboxContext, at: number) => ({
  name: "boot",
  at: Math.ceil(at),
  event: { type: "BOOT_TIMEOUT", generation }
})

/** The deadlines of a lifetime, as they fall now. */
const stopDeadline = {
  type: "schedule",
  params: ({ context }: OfContext) => ({ name: "stop", at: stopsAt(context), event: { type: "STOP_DUE" } })
} as const
const idleStopDeadline = {
  type: "schedule",
  params: ({ context }: OfContext) => ({ name: "idleStop", at: context.idleStopAt, event: { type: "IDLE_STOP_DUE" } })
} as const
const deletionDeadline = {
  type: "schedule",
  params: ({ context }: OfContext) => ({ name: "deletion", at: deletesAt(context), event: { type: "DELETE_DUE" } })
} as const
const forget = (name: string) => ({ type: "unschedule", params: { name } }) as const

/** The run is over: the lifetime's deadlines of running end with it. */
const runOver = ["noteRunOver", forget("stop"), forget("idleStop")] as const

/** Its host is lost: the service gives up the runtime and everything that lives in it. */
const lost = [
  "noteTime",
  "noteReason",
  "noteStopped",
  {
    type: "closeDependents",
    params: ({
      context: { generation },
      event: { reason }
    }: OfContext & { readonly event: Extract<SandboxEvent, { readonly type: "HOST_LOST" }> }) => ({
      code: "SANDBOX_LOST",
      message: `The Sandbox's runtime ended: ${reason.message}`,
      generation
    })
  },
  { type: "leaveRuntime", params: ofGeneration },
  ...runOver
] as const

const leavesRuntime = { type: "leaveRuntime", params: ofGeneration } as const
/** Its host is lost after its runtime was to end. */
const lostBetween = ["noteTime", "noteReason", "noteRollbackFailed", leavesRuntime] as const
const deletedMeanwhile = { code: "SANDBOX_DELETED", message: "The Sandbox was deleted." }

/** A client's change, with the deadlines that it can move in each state. */
const changed = { guard: "isOfEdition", actions: ["noteChanges"], description: "A client changes it." } as const
const changedWhileUp = { ...changed, actions: [...changed.actions, stopDeadline, idleStopDeadline] } as const
const changedWhileDown = { ...changed, actions: [...changed.actions, deletionDeadline] } as const
/** Where a checkpoint can be taken. */
const changedWhileUsable = { ...changed, actions: [...changedWhileUp.actions, checkpointDeadline] } as const
const changedWhileStopped = { ...changed, actions: [...changedWhileDown.actions, checkpointDeadline] } as const
/** The same, with other sizes: they cost from this commit on. */
const resized = { guard: "isResized", description: "A client changes its sizes; a later boot has them." } as const
const resizedWhileUp = { ...resized, actions: [...changedWhileUp.actions, { type: "meter" }] } as const
const resizedWhileUsable = { ...resized, actions: [...changedWhileUsable.actions, { type: "meter" }] } as const
const resizedWhileDown = { ...resized, actions: [...changedWhileDown.actions, { type: "meter" }] } as const
const resizedWhileStopped = { ...resized, actions: [...changedWhileStopped.actions, { type: "meter" }] } as const

const stopDue = { guard: "hasStop", target: "stopping", actions: ["noteTime", "noteRunEnd"] } as const

/** While its runtime ends, and while its volume is replaced afterwards: what it does next. */
const betweenRuns = {
  START: { actions: ["noteTime", "noteStartRequested"], description: "Boots again afterwards." },
  STOP: [
    {
      guard: "overrulesStart",
      actions: ["noteTime", "noteStartWithdrawn", "noteReason"],
      description: "The service does not let it boot again, and says why."
    },
    { actions: ["noteTime", "noteStartWithdrawn"], description: "Stays stopped after all." }
  ],
  CHANGED: [{ ...resized, actions: [...changed.actions, { type: "meter" }] }, changed],
  DELETE: { target: "deleting", actions: ["noteTime", "noteRollbackFailed"], description: "Deleted meanwhile." }
} as const

/** While the runtime exists and can be idle. */
const watchedForIdleness = {
  IDLE_STOP_DUE: {
    guard: "hasIdleStop",
    actions: [{ type: "lookAtIdleness", params: ({ context }: OfContext) => ({ idleStopAt: context.idleStopAt }) }],
    description: "It could have been idle for too long."
  },
  WAS_USED: {
    guard: "isOfThatLook",
    actions: ["noteUse", idleStopDeadline],
    description: "It was used; it is looked at again when it could be idle for too long at the earliest."
  },
  WAS_IDLE: {
    guard: "isOfThatLook",
    target: "stopping",
    actions: ["noteTime", "noteIdleness"],
    description: "It was idle for as long as its lifetime allows."
  }
} as const

/** While only the volume exists. */
const keptWithoutRuntime = {
  CHANGED: [resizedWhileDown, changedWhileDown],
  RUNTIME_FOUND: {
    actions: [{ type: "stopRuntime", params: ofGeneration }],
    description: "None should run: it is ended."
  }
} as const

const deletionDue = { guard: "hasDeletion", target: "deleting", actions: ["noteTime"] } as const

export const sandboxMachine = setup({
  types: {
    input: {} as SandboxInput,
    context: {} as SandboxContext,
    events: {} as SandboxEvent,
    meta: {} as StateMeta,
    tags: {} as Tag
  },
  guards: {
    /** It speaks of the present generation. */
    isCurrent: ({ context, event }) => "generation" in event && event.generation === context.generation,
    /** It speaks of the first generation, which has never run. */
    isFirstBoot: ({ context, event }) =>
      hasNeverRun(context) && "generation" in event && event.generation === context.generation,
    /** Its host is lost, and with that the present generation. */
    isLost: ({ context, event }) =>
      event.type === "HOST_LOST" && (event.generation ?? context.generation) === context.generation,
    /** The same of the first generation, which has never run. */
    isLostBeforeItRan: ({ context, event }) =>
      event.type === "HOST_LOST" && (event.generation ?? 1) === 1 && hasNeverRun(context),
    /** It speaks of the present generation, and the host was said to hold that up. */
    isHeldUp: ({ context, event }) =>
      context.statusReason !== null && "generation" in event && event.generation === context.generation,
    /** The service stops by itself what a client has just asked to start. */
    overrulesStart: ({ context, event }) =>
      context.startRequested && event.type === "STOP" && event.reason !== undefined,
    /** It speaks of what it is at present. */
    isOfEdition: ({ context, event }) => event.type === "CHANGED" && event.edition === context.edition,
    /** The same, and its sizes become others. Without changes: a reader asks what the state takes. */
    isResized: ({ context, event }) =>
      event.type === "CHANGED" && event.edition === context.edition && event.changes?.profile !== undefined,
    /** It speaks of the present generation, whose end a rollback waits for. */
    rollsBackAfterStop: ({ context, event }) =>
      openRollback(context) !== null && "generation" in event && event.generation === context.generation,
    /** Its lifetime ends its running. */
    hasStop: ({ context }) => stopsAt(context) !== null,
    /** Its lifetime ends its idleness. */
    hasIdleStop: ({ context }) => context.idleStopAt !== null,
    /** It answers the last look at its use. */
    isOfThatLook: ({ context, event }) =>
      context.idleStopAt !== null && "idleStopAt" in event && event.idleStopAt === context.idleStopAt,
    /** A time of its next checkpoint is set. */
    hasCheckpoint: ({ context }) => context.checkpointAt !== null,
    /** A checkpoint is wanted when the present generation has stopped. */
    isCheckpointedAtStop,
    /** Its lifetime ends its being stopped. */
    hasDeletion: ({ context }) => deletesAt(context) !== null,
    /** It speaks of the present generation, and a start waits for its end. */
    restartsAfterStop: ({ context, event }) =>
      context.startRequested && "generation" in event && event.generation === context.generation
  },
  actions: {
    /** Command: make the volume if needed and boot this generation; wakes a frozen one. Answers RUNTIME_UP, RUNTIME_REFUSED or RUNTIME_FAILED. */
    provision: (_, _params: { readonly generation: number }) => {},
    /** Command: end the runtime, keep the volume. Answers RUNTIME_STOPPED. */
    stopRuntime: (_, _params: { readonly generation: number }) => {},
    /** Command: have the host replace the volume, once the present one is kept if it shall be; retried until one or the other is certain. Answers VOLUME_RESTORED or ROLLBACK_FAILED. */
    restoreVolume: (_, _params: { readonly generation: number }) => {},
    /** Command: give the runtime its present sizes, as far as it takes them while it runs. Answers nothing. */
    resizeRuntime: (_, _params: { readonly generation: number }) => {},
    /** Command: whatever was being done to the runtime is given up, and its host's vCPUs and memory are free. Answers nothing. */
    leaveRuntime: (_, _params: { readonly generation: number }) => {},
    /** Command: see when the Sandbox was last used. Answers IN_USE, SLEEP, or nothing where Sandboxes do not sleep. */
    lookAtUse: () => {},
    /** Command: see whether anybody used it for as long as its lifetime says. Answers WAS_USED or WAS_IDLE. */
    lookAtIdleness: (_, _params: { readonly idleStopAt: number | null }) => {},
    /** Command: freeze the runtime, unless it is used after all. Answers SUSPEND_FAILED, or nothing. */
    suspendRuntime: (_, _params: { readonly generation: number }) => {},
    /** Command: end the runtime, remove the volume and delete the checkpoints, retried until done. Answers VOLUME_GONE. */
    destroyRuntime: () => {},
    /** Command: take a checkpoint of its volume. Answers CHECKPOINT_TAKEN or CHECKPOINT_REFUSED. */
    takeCheckpoint: () => {},
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
        /** Null: none, and an earlier one of the same name is forgotten. */
        readonly at: number | null
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
    noteNeverUp: assign({
      statusReason: ({ context, event }) =>
        event.type === "HOST_LOST"
          ? {
              code: event.reason.code,
              message: "Its host was lost before it had booted. Nothing was in it: delete it, and make another one."
            }
          : context.statusReason
    }),
    noteRunEnd: assign({
      statusReason: ({ context }) => ({
        code: "LIFETIME_ENDED",
        message: `It had run for ${context.lifetime?.stopAfterSeconds} s, as long as its lifetime allows.`
      })
    }),
    noteIdleness: assign({
      statusReason: ({ context }) => ({
        code: "IDLE_TOO_LONG",
        message: `Nobody had used it for ${context.lifetime?.stopAfterIdleSeconds} s, as long as its lifetime allows.`
      })
    }),
    noteChanges: assign(({ context, event }) => {
      if (event.type !== "CHANGED") return {}
      const { name, metadata, env, lifetime, profile, checkpoints, upAt, edition, madeWith } = context
      const idle = event.changes.lifetime
      const next = event.changes.checkpoints
      return {
        ...event.changes,
        ...(idle === undefined
          ? {}
          : { idleStopAt: after(upAt === null ? null : event.at, idle?.stopAfterIdleSeconds) }),
        ...(next === undefined
          ? {}
          : { checkpointAt: context.ranSinceCheckpoint ? checkpointAfter(event.at, next) : null }),
        edition: edition + 1,
        madeWith: madeWith ?? { name, metadata, env, lifetime, profile, checkpoints }
      }
    }),
    noteUse: assign({
      idleStopAt: ({ context, event }) =>
        after("usedAt" in event ? event.usedAt : null, context.lifetime?.stopAfterIdleSeconds)
    }),
    noteCheckpointDue: assign(checkpointDue),
    noteCheckpointAtRest: assign(checkpointDueAtRest),
    noteCheckpoint: assign(checkpointAnswered),
    noteRunOver: assign({ upAt: null, idleStopAt: null }),
    noteNoReason: assign({ statusReason: null }),
    noteNextGeneration: assign({
      generation: ({ context }) => context.generation + 1,
      startRequested: false,
      statusReason: null,
      stoppedAt: null
    }),
    noteStarted: assign({
      startedAt: ({ event }) => event.at,
      stoppedAt: null,
      statusReason: null,
      upAt: ({ context, event }) => context.upAt ?? event.at,
      idleStopAt: ({ context, event }) => after(event.at, context.lifetime?.stopAfterIdleSeconds),
      checkpointAt: ({ context, event }) => context.checkpointAt ?? checkpointAfter(event.at, context.checkpoints),
      ranSinceCheckpoint: true
    }),
    noteStopped: assign({ stoppedAt: ({ event }) => event.at, startRequested: false }),
    /** One that ran or slept runs again afterwards. */
    noteRollback: assign(({ context, event }) => {
      if (event.type !== "ROLLBACK") return {}
      const { rollbackId, snapshotId, keptId, at } = event
      return {
        rollback: { rollbackId, snapshotId, keptId, askedAt: at, outcome: "open" as const, reason: null },
        startRequested: context.upAt !== null,
        statusReason: null
      }
    }),
    noteRollbackDone: assign({
      rollback: ({ context: { rollback } }) => (rollback === null ? null : { ...rollback, outcome: "done" as const })
    }),
    noteRollbackFailed: assign({
      rollback: ({ context, event }) => {
        const rollback = openRollback(context)
        if (rollback === null) return context.rollback
        const reason = "reason" in event && event.reason !== undefined ? event.reason : deletedMeanwhile
        return { ...rollback, outcome: "failed" as const, reason }
      }
    }),
    noteRuntimeEnded: assign({ stoppedAt: ({ event }) => event.at }),
    noteRestored: assign({ generation: ({ context }) => context.generation + 1 }),
    noteDeleted: assign({ deletedAt: ({ event }) => event.at, statusReason: null }),
    noteStartRequested: assign({ startRequested: true }),
    noteStartWithdrawn: assign({ startRequested: false })
  }
}).createMachine({
  id: "sandbox",
  version: "6",
  description: "One Sandbox, from its durable acceptance to the end of its volume.",
  // `input?.`: where only an actor's scope is wanted, one is made of this machine without input, and its context thrown away.
  context: ({ input }) => ({
    sandboxId: input?.sandboxId,
    accountId: input?.accountId,
    workspaceId: input?.workspaceId,
    volumeId: input?.volumeId,
    hostId: input?.hostId ?? null,
    name: input?.name,
    runtime: input?.runtime,
    profile: input?.profile,
    networkEnabled: input?.networkEnabled,
    metadata: input?.metadata,
    env: input?.env ?? null,
    lifetime: input?.lifetime ?? null,
    bootTimeoutMs: input?.bootTimeoutMs,
    snapshotId: input?.snapshotId ?? null,
    image: input?.image ?? null,
    buildsImageId: input?.buildsImageId ?? null,
    checkpoints: input?.checkpoints ?? null,
    generation: 1,
    startRequested: false,
    statusReason: null,
    createdAt: input?.at,
    updatedAt: input?.at,
    startedAt: null,
    stoppedAt: null,
    deletedAt: null,
    upAt: null,
    idleStopAt: null,
    checkpointAt: null,
    ranSinceCheckpoint: false,
    lastCheckpoint: null,
    edition: 1,
    madeWith: null,
    rollback: null
  }),
  initial: "pending",
  states: {
    pending: {
      description: "Accepted durably; a runtime of the current generation is being made, booted or woken.",
      tags: ["counted", "inhabited", "awaited", "restartable"],
      meta: { unchanged: ["START"], refuses: notRunning },
      entry: [
        { type: "provision", params: ofGeneration },
        { type: "schedule", params: ({ context }) => bootDeadline(context, context.updatedAt + context.bootTimeoutMs) }
      ],
      exit: [forget("boot")],
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
        BOOT_WAITS: {
          guard: "isCurrent",
          actions: [{ type: "schedule", params: ({ context, event }) => bootDeadline(context, event.until) }],
          description: "It waits, or has waited, for its turn at the host: the time of its boot starts again."
        },
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
        HOST_LOST: [
          {
            guard: "isLostBeforeItRan",
            target: "failed",
            actions: ["noteTime", "noteNeverUp"],
            description:
              "Its host was lost before the first boot was done: perhaps it is up there, so it boots nowhere else."
          },
          {
            guard: "isLost",
            target: "stopped",
            actions: lost,
            description: "Its host is lost; the volume waits there."
          }
        ],
        CHANGED: [
          {
            ...resizedWhileUp,
            actions: [...resizedWhileUp.actions, { type: "provision", params: ofGeneration }],
            description: "A client changes its sizes: the boot goes on with these."
          },
          changedWhileUp
        ],
        ...answeredCheckpoint,
        STOP_DUE: { ...stopDue, description: "It had run for long enough before it was woken." },
        STOP: { target: "stopping", actions: ["noteTime", "noteReason"], description: "Stopped while it booted." },
        DELETE: { target: "deleting", actions: ["noteTime"], description: "Deleted while it booted." }
      }
    },
    running: {
      description:
        "The runtime answers; commands, files and connections work. Nobody using it for long enough lets it sleep.",
      tags: ["counted", "inhabited", "alive", "notStarting", "up", "restartable", "capturable"],
      meta: { unchanged: ["START"], refuses: late },
      entry: [{ type: "lookAtUse" }, { type: "meter" }, stopDeadline, idleStopDeadline, checkpointDeadline],
      exit: [forget("idle"), forget("checkpoint"), { type: "meter" }],
      on: {
        STOP: {
          target: "stopping",
          actions: ["noteTime", "noteReason"],
          description: "A client stops it, or the service, which says why."
        },
        ROLLBACK: {
          target: "stopping",
          actions: ["noteTime", "noteRollback"],
          description: "Rolled back: it ends first."
        },
        ...watchedForIdleness,
        CHANGED: [
          {
            ...resizedWhileUsable,
            actions: [...resizedWhileUsable.actions, { type: "resizeRuntime", params: ofGeneration }],
            description: "A client changes its sizes: the runtime gets them as far as it takes them while it runs."
          },
          changedWhileUsable
        ],
        CHECKPOINT_DUE: {
          guard: "hasCheckpoint",
          actions: ["noteCheckpointDue", checkpointDeadline, { type: "takeCheckpoint" }],
          description: "A checkpoint is due; the next one is due a whole interval later."
        },
        ...answeredCheckpoint,
        STOP_DUE: { ...stopDue, description: "It has run for long enough." },
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
        HOST_LOST: {
          guard: "isLost",
          target: "stopped",
          actions: lost,
          description:
            "Its host is lost; what may still run there is ended when that returns, and the volume waits there."
        },
        RUNTIME_STALLED: {
          guard: "isCurrent",
          actions: ["noteTime", "noteReason"],
          description: "The host holds it up; it goes on by itself, and the reason tells so until then."
        },
        RUNTIME_RESUMED: { guard: "isHeldUp", actions: ["noteTime", "noteNoReason"], description: "It goes on." }
      }
    },
    sleeping: {
      description: "The runtime is frozen to disk with its processes; a start wakes the same generation.",
      tags: [
        "counted",
        "inhabited",
        "alive",
        "notStarting",
        "asleep",
        "awaited",
        "startable",
        "restartable",
        "capturable"
      ],
      meta: { unchanged: ["SLEEP"], refuses: late },
      entry: [{ type: "suspendRuntime", params: ofGeneration }, checkpointDeadline],
      exit: [forget("checkpoint")],
      on: {
        START: { target: "pending", actions: ["noteTime", "noteNoReason"], description: "Woken." },
        ROLLBACK: {
          target: "stopping",
          actions: ["noteTime", "noteRollback"],
          description: "What is frozen ends first."
        },
        ...watchedForIdleness,
        CHANGED: [resizedWhileUsable, changedWhileUsable],
        CHECKPOINT_DUE: { ...checkpointAtRest, description: "A checkpoint is due of what it did before it slept." },
        ...answeredCheckpoint,
        STOP_DUE: { ...stopDue, description: "It has run, and slept, for long enough." },
        RUNTIME_FOUND: {
          actions: [{ type: "suspendRuntime", params: ofGeneration }],
          description: "It was found running, by a boot that ended late: it is frozen again."
        },
        STOP: { target: "stopping", actions: ["noteTime", "noteReason"], description: "Stopped in its sleep." },
        DELETE: { target: "deleting", actions: ["noteTime"], description: "Deleted in its sleep." },
        SUSPEND_FAILED: {
          guard: "isCurrent",
          target: "pending",
          actions: ["noteTime"],
          description: "Freezing it failed, and how far it came is unknown: the same generation is made to run again."
        },
        HOST_LOST: {
          guard: "isLost",
          target: "stopped",
          actions: lost,
          description: "Its host is lost; what is frozen there is ended when that returns, and the volume waits there."
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
      tags: ["counted", "restartable"],
      meta: { unchanged: [], refuses: notRunning },
      entry: [
        {
          type: "closeDependents",
          params: ({ context: { statusReason, generation }, event }) => {
            if (event.type === "ROLLBACK") {
              const message = `The Sandbox was rolled back to the snapshot ${event.snapshotId}.`
              return { code: "SANDBOX_ROLLED_BACK", message, generation }
            }
            if (statusReason === null) {
              return { code: "SANDBOX_STOPPED", message: "The Sandbox was stopped.", generation }
            }
            return ["STOP", "STOP_DUE", "WAS_IDLE"].includes(event.type)
              ? { code: statusReason.code, message: `The Sandbox was stopped: ${statusReason.message}`, generation }
              : { code: "SANDBOX_LOST", message: `The Sandbox's runtime ended: ${statusReason.message}`, generation }
          }
        },
        { type: "stopRuntime", params: ofGeneration },
        ...runOver
      ],
      on: {
        ...betweenRuns,
        RUNTIME_STOPPED: [
          {
            guard: "rollsBackAfterStop",
            target: "restoring",
            actions: ["noteTime", "noteRuntimeEnded"],
            description: "Ended, and a rollback waits."
          },
          {
            guard: "restartsAfterStop",
            target: "pending",
            actions: ["noteTime", "noteNextGeneration"],
            description: "Ended, and a start waits: boots again."
          },
          {
            guard: "isCheckpointedAtStop",
            target: "stopped",
            actions: ["noteTime", "noteStopped", ...checkpointAtRest.actions],
            description: "Ended; a checkpoint of what it did is taken."
          },
          { guard: "isCurrent", target: "stopped", actions: ["noteTime", "noteStopped"], description: "Ended." }
        ],
        ...answeredCheckpoint,
        HOST_LOST: {
          guard: "isLost",
          target: "stopped",
          actions: [...lostBetween, "noteStopped"],
          description: "Its host is lost: nothing more can be ended there until that returns."
        }
      }
    },
    restoring: {
      description:
        "A rollback: the runtime has ended. The volume is kept as a snapshot, and then becomes a copy of an earlier one.",
      tags: ["counted", "ended", "restartable", "restoring"],
      meta: { unchanged: [], refuses: notRunning },
      entry: [{ type: "restoreVolume", params: ofGeneration }],
      on: {
        ...betweenRuns,
        VOLUME_RESTORED: [
          {
            guard: "restartsAfterStop",
            target: "pending",
            actions: ["noteTime", "noteRollbackDone", "noteNextGeneration"],
            description: "The volume is the snapshot's: boots again with it."
          },
          {
            guard: "isCurrent",
            target: "stopped",
            actions: ["noteTime", "noteRollbackDone", "noteRestored"],
            description: "The volume is the snapshot's: the next boot has it."
          }
        ],
        ROLLBACK_FAILED: [
          {
            guard: "restartsAfterStop",
            target: "pending",
            actions: ["noteTime", "noteRollbackFailed", "noteNextGeneration"],
            description: "The volume is as it was: boots again with that."
          },
          {
            guard: "isCurrent",
            target: "stopped",
            actions: ["noteTime", "noteReason", "noteRollbackFailed"],
            description: "The volume is as it was."
          }
        ],
        HOST_LOST: {
          guard: "isLost",
          target: "stopped",
          actions: [...lostBetween, "noteStartWithdrawn"],
          description: "Its host is lost, and the volume there is as it was or the snapshot's."
        }
      }
    },
    stopped: {
      description: "No runtime; the volume is kept. Counts toward the account's limits.",
      tags: ["counted", "runtimeless", "ended", "notStarting", "startable", "restartable", "capturable"],
      meta: { unchanged: ["STOP"], refuses: notRunning },
      entry: [deletionDeadline, checkpointDeadline],
      exit: [forget("deletion"), forget("checkpoint")],
      on: {
        ...keptWithoutRuntime,
        ROLLBACK: { target: "restoring", actions: ["noteTime", "noteRollback"], description: "It stays stopped." },
        CHANGED: [resizedWhileStopped, changedWhileStopped],
        CHECKPOINT_DUE: { ...checkpointAtRest, description: "A checkpoint is due of what it did before it stopped." },
        ...answeredCheckpoint,
        DELETE_DUE: { ...deletionDue, description: "Nobody has started it for as long as its lifetime says." },
        START: {
          target: "pending",
          actions: ["noteTime", "noteNextGeneration"],
          description: "Boots the next generation."
        },
        DELETE: { target: "deleting", actions: ["noteTime"], description: "Deleted." }
      }
    },
    expired: {
      description: "A limit refused the first boot; nothing of it is kept but this record.",
      tags: ["removed", "ended", "notStarting", "volumeless"],
      meta: { unchanged: [], refuses: over("SANDBOX_EXPIRED") },
      on: { DELETE: { target: "deleting", actions: ["noteTime"], description: "Deleted." } }
    },
    failed: {
      description: "The first boot failed; what is left of it goes with the deletion.",
      tags: ["counted", "runtimeless", "notStarting", "broken"],
      meta: {
        unchanged: [],
        refuses: { ...late, START: "SANDBOX_FAILED", STOP: "SANDBOX_FAILED", SLEEP: "SANDBOX_FAILED" }
      },
      entry: [{ type: "stopRuntime", params: ofGeneration }, deletionDeadline],
      exit: [forget("deletion")],
      on: {
        ...keptWithoutRuntime,
        DELETE_DUE: { ...deletionDue, description: "It is kept no longer than a stopped one." },
        DELETE: { target: "deleting", actions: ["noteTime"], description: "Deleted." }
      }
    },
    deleting: {
      description: "Runtime and volume are being removed, retried until they are gone. Nothing leads back.",
      tags: ["counted", "notStarting", "volumeless"],
      meta: { unchanged: ["DELETE"], refuses: over("SANDBOX_DELETED") },
      entry: [
        {
          type: "closeDependents",
          params: ({ context: { generation } }) => ({
            code: "SANDBOX_DELETED",
            message: "The Sandbox was deleted.",
            generation
          })
        },
        { type: "destroyRuntime" },
        ...runOver
      ],
      on: {
        VOLUME_GONE: { target: "deleted", actions: ["noteTime", "noteDeleted"], description: "Nothing is left." }
      }
    },
    deleted: {
      type: "final",
      description: "Gone. The record, its log and its finished operations stay readable for the retention time.",
      tags: ["removed", "ended", "notStarting", "volumeless", "gone"],
      entry: [{ type: "meter" }],
      meta: { unchanged: ["DELETE"], refuses: over("SANDBOX_DELETED") }
    }
  }
})
