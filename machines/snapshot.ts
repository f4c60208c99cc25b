/**
 * The life of one snapshot: the volume of a Sandbox as it was at one instant. It stays on the host of that Sandbox, and outlives it. Where
 * that host is removed, it moves to a host that has a copy. One that was imported begins when its host has received the whole file.
 *
 * A deletion wins over a capture that still runs, and removes what the capture leaves on the host. The image of a snapshot that was ready is
 * removed only when no first boot needs it any more (`src/snapshot/`).
 *
 * @source design.md "Snapshots and images"
 */
import { assign, setup } from "xstate"
import type { ChangeableSnapshot, SnapshotContext } from "../schemas/contexts/Snapshot.ts"
import type { PublicReason } from "../schemas/PublicText.ts"
import type { StateMeta } from "./meta.ts"

export interface SnapshotInput
  extends Pick<
    SnapshotContext,
    | "snapshotId"
    | "accountId"
    | "workspaceId"
    | "sandboxId"
    | "sandboxRevision"
    | "generation"
    | "hostId"
    | "name"
    | "expiresAt"
    | "runtime"
    | "profile"
    | "networkEnabled"
    | "sandboxName"
    | "metadata"
    | "env"
    | "lifetime"
    | "image"
    | "memory"
    | "rollbackId"
  > {
  /** Absent: a client asks for it. */
  readonly checkpoint?: boolean
  readonly at: number
}

/** What a context of version 1 did not have: its root was its host's own, and a client took it. */
const ofVersion1 = { image: null, rollbackId: null, checkpoint: false }

/** A context as it is stored, brought to this version. */
export const snapshotOfThisVersion = (_: string, context: SnapshotContext): SnapshotContext =>
  Object.keys(ofVersion1).every((field) => field in context) ? context : { ...ofVersion1, ...context }

export type SnapshotEvent =
  /** The host has the whole image. */
  | {
      readonly type: "CAPTURED"
      readonly at: number
      readonly hostId: string | null
      readonly sizeBytes: number
      readonly storedBytes: number
      readonly pausedMs: number
    }
  /** The host made no image, and will make none. */
  | { readonly type: "CAPTURE_FAILED"; readonly at: number; readonly reason: PublicReason }
  /** The host does not have the image any more. */
  | { readonly type: "SNAPSHOT_LOST"; readonly at: number; readonly reason: PublicReason }
  /** The host `hostId` does not have the image any more; a copy on the host `to` takes its place. */
  | { readonly type: "MOVED"; readonly at: number; readonly hostId: string; readonly to: string }
  /** A client changes name or expiry; what is absent stays. `edition` is the one that it read. */
  | {
      readonly type: "CHANGED"
      readonly at: number
      readonly edition: number
      readonly changes: Partial<ChangeableSnapshot>
    }
  /** A client deletes it. */
  | { readonly type: "DELETE"; readonly at: number }
  /** Of a checkpoint: newer ones are ready, or its Sandbox is deleted. */
  | { readonly type: "SUPERSEDED"; readonly at: number }
  /** Its `expiresAt` has come. */
  | { readonly type: "EXPIRE"; readonly at: number }
  /** The host has nothing of it. */
  | { readonly type: "IMAGE_GONE"; readonly at: number }

/** What a state means to other code. */
type Tag =
  /** It counts toward the account's number of snapshots. */
  | "counted"
  /** The image is being made. */
  | "awaited"
  /** A Sandbox can be made of it. It costs from here on. */
  | "bootable"
  /** An image that was whole is still on its host, and costs. */
  | "stored"
  /** Its host shall have nothing of it, or nothing much longer. */
  | "removed"
  /** There is no image, and none comes: what its host still has of it is removed. */
  | "imageless"
  /** Nothing but its record is left. */
  | "gone"

/** Its image was whole once. A first boot that began before its deletion still gets it. */
export const wasReady = ({ readyAt }: Pick<SnapshotContext, "readyAt">): boolean => readyAt !== null

/** It is deleted by itself in favour of newer ones, and with its Sandbox. Any change by a client keeps it. */
export const isPassing = ({ checkpoint, edition }: Pick<SnapshotContext, "checkpoint" | "edition">): boolean =>
  checkpoint && edition === 1

const expiryDeadline = {
  type: "schedule",
  params: ({ context }: { readonly context: SnapshotContext }) => ({
    name: "expiry",
    at: context.expiresAt,
    event: { type: "EXPIRE" }
  })
} as const

const captureOver = { CAPTURED: "CAPTURE_OVER", CAPTURE_FAILED: "CAPTURE_OVER" }

/** While it is neither deleted nor being deleted. */
const kept = {
  CHANGED: {
    guard: "isOfEdition",
    actions: ["noteChanges", expiryDeadline],
    description: "A client changes its name or its expiry."
  },
  DELETE: { target: "deleting", description: "A client deletes it." },
  SUPERSEDED: {
    guard: "isPassing",
    target: "deleting",
    description: "Newer checkpoints are ready, or its Sandbox is deleted."
  },
  EXPIRE: { guard: "hasExpiry", target: "deleting", description: "It has expired." }
} as const
const keptRefusals = { CHANGED: "STALE_CHANGE", EXPIRE: "STALE_DEADLINE", SUPERSEDED: "SNAPSHOT_KEPT" }
const withoutImage = { SNAPSHOT_LOST: "SNAPSHOT_NOT_READY", MOVED: "SNAPSHOT_NOT_READY" }

const ending = {
  ...captureOver,
  SNAPSHOT_LOST: "SNAPSHOT_DELETED",
  MOVED: "SNAPSHOT_DELETED",
  CHANGED: "SNAPSHOT_DELETED",
  EXPIRE: "STALE_DEADLINE"
}

export const snapshotMachine = setup({
  types: {
    input: {} as SnapshotInput,
    context: {} as SnapshotContext,
    events: {} as SnapshotEvent,
    meta: {} as StateMeta,
    tags: {} as Tag
  },
  guards: {
    /** It changes the edition that is the present one. */
    isOfEdition: ({ context, event }) => event.type === "CHANGED" && event.edition === context.edition,
    /** No client has changed it: only its Sandbox wants it. */
    isPassing: ({ context }) => isPassing(context),
    /** Its Sandbox took it by itself. */
    isCheckpoint: ({ context }) => context.checkpoint,
    /** It speaks of the host that has the image. */
    isThere: ({ context, event }) => event.type === "MOVED" && event.hostId === context.hostId,
    /** It has an expiry. */
    hasExpiry: ({ context }) => context.expiresAt !== null
  },
  actions: {
    /**
     * Command: have the host copy the volume (that of a rollback, once its Sandbox has stopped for it), or accept the image that was imported. Answers
     * CAPTURED or CAPTURE_FAILED.
     */
    captureSnapshot: () => {},
    /** Command: have the host remove the image, whole or unfinished; tried until done. Answers IMAGE_GONE. */
    removeSnapshot: () => {},
    /** Command: delete the Sandbox's older checkpoints; all of them once the Sandbox is deleted. Answers nothing. */
    supersedeOlder: () => {},
    /** Command: post what it cost up to here. Answers nothing. */
    meter: () => {},
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

    noteImage: assign(({ event }) => {
      if (event.type !== "CAPTURED") return {}
      const { hostId, sizeBytes, storedBytes, pausedMs, at } = event
      return { hostId, sizeBytes, storedBytes, pausedMs, readyAt: at }
    }),
    noteHost: assign(({ event }) => (event.type === "MOVED" ? { hostId: event.to } : {})),
    noteReason: assign({ statusReason: ({ event }) => ("reason" in event ? event.reason : null) }),
    noteChanges: assign(({ context, event }) =>
      event.type === "CHANGED" ? { ...event.changes, edition: context.edition + 1 } : {}
    ),
    noteDeleted: assign({ deletedAt: ({ event }) => event.at })
  }
}).createMachine({
  id: "snapshot",
  version: "2",
  description: "The volume of a Sandbox as it was at one instant.",
  // `input?.`: where only an actor's scope is wanted, one is made of this machine without input, and its context thrown away.
  context: ({ input }) => ({
    snapshotId: input?.snapshotId,
    accountId: input?.accountId,
    workspaceId: input?.workspaceId,
    sandboxId: input?.sandboxId,
    sandboxRevision: input?.sandboxRevision,
    generation: input?.generation,
    hostId: input?.hostId,
    name: input?.name,
    expiresAt: input?.expiresAt,
    runtime: input?.runtime,
    profile: input?.profile,
    networkEnabled: input?.networkEnabled,
    sandboxName: input?.sandboxName,
    metadata: input?.metadata,
    env: input?.env,
    lifetime: input?.lifetime,
    image: input?.image ?? null,
    checkpoint: input?.checkpoint ?? false,
    memory: input?.memory,
    rollbackId: input?.rollbackId ?? null,
    sizeBytes: null,
    storedBytes: null,
    pausedMs: null,
    statusReason: null,
    createdAt: input?.at,
    readyAt: null,
    deletedAt: null,
    edition: 1
  }),
  initial: "creating",
  states: {
    creating: {
      description: "Accepted durably; the host copies the volume.",
      tags: ["counted", "awaited"],
      meta: {
        unchanged: [],
        refuses: { ...keptRefusals, ...withoutImage, IMAGE_GONE: "SNAPSHOT_NOT_DELETING" }
      },
      entry: [{ type: "captureSnapshot" }, expiryDeadline],
      on: {
        ...kept,
        DELETE: { target: "deleting", description: "A client deletes it; the capture is given up." },
        CAPTURED: [
          {
            guard: "isCheckpoint",
            target: "ready",
            actions: ["noteImage", { type: "meter" }, { type: "supersedeOlder" }],
            description: "The host has the whole image of the checkpoint, which takes the place of an older one."
          },
          { target: "ready", actions: ["noteImage", { type: "meter" }], description: "The host has the whole image." }
        ],
        CAPTURE_FAILED: [
          {
            guard: "isCheckpoint",
            target: "failed",
            actions: ["noteReason", { type: "supersedeOlder" }],
            description: "There is no image of the checkpoint; what the try left on the host is removed."
          },
          {
            target: "failed",
            actions: ["noteReason"],
            description: "There is no image; what the try left on the host is removed."
          }
        ]
      }
    },
    ready: {
      description: "Its host has the image. Sandboxes can be made of it.",
      tags: ["counted", "bootable", "stored"],
      meta: {
        unchanged: [],
        refuses: { ...keptRefusals, ...captureOver, MOVED: "STALE_MOVE", IMAGE_GONE: "SNAPSHOT_NOT_DELETING" }
      },
      on: {
        ...kept,
        MOVED: {
          guard: "isThere",
          actions: ["noteHost"],
          description: "Its host has it no more; a copy on another host takes its place."
        },
        SNAPSHOT_LOST: {
          target: "failed",
          actions: ["noteReason", { type: "meter" }],
          description: "Its host has lost the image."
        }
      }
    },
    failed: {
      description: "There is no image. The record tells why until it is deleted.",
      tags: ["counted", "imageless"],
      meta: {
        // The removal that this state asked for.
        unchanged: ["IMAGE_GONE"],
        refuses: { ...keptRefusals, ...captureOver, ...withoutImage }
      },
      entry: [{ type: "removeSnapshot" }],
      on: kept
    },
    deleting: {
      description: "The image is being removed, retried until it is gone. Nothing leads back.",
      tags: ["counted", "removed", "stored"],
      meta: { unchanged: ["DELETE", "SUPERSEDED"], refuses: ending },
      entry: [{ type: "unschedule", params: { name: "expiry" } }, { type: "removeSnapshot" }],
      on: {
        IMAGE_GONE: {
          target: "deleted",
          actions: ["noteDeleted", { type: "meter" }],
          description: "Nothing is left."
        }
      }
    },
    deleted: {
      type: "final",
      description: "Gone. The record and its log stay readable for the retention time.",
      tags: ["removed", "imageless", "gone"],
      meta: { unchanged: ["DELETE", "SUPERSEDED"], refuses: { ...ending, IMAGE_GONE: "SNAPSHOT_DELETED" } }
    }
  }
})
