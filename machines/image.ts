/**
 * The life of one image of an account: the root file system for Sandboxes, pulled from a registry, or made of an archive that a host has received.
 *
 * A deletion wins over a pull that still runs. The bytes of an image leave the hosts only when no image of any account has the same digest, and no
 * Sandbox and no snapshot needs it (`src/image/`).
 */
import { assign, setup } from "xstate"
import type { ImageContext } from "../schemas/contexts/Image.ts"
import type { PublicReason } from "../schemas/PublicText.ts"
import type { StateMeta } from "./meta.ts"

export interface ImageInput extends Pick<ImageContext, "imageId" | "accountId" | "name" | "reference" | "credentials"> {
  readonly at: number
}

export type ImageEvent =
  /** A host has the whole image. */
  | {
      readonly type: "PULLED"
      readonly at: number
      readonly digest: string
      readonly sizeBytes: number
      readonly storedBytes: number
      readonly env: ImageContext["env"]
    }
  /** No host has the image, and none will. */
  | { readonly type: "PULL_FAILED"; readonly at: number; readonly reason: PublicReason }
  /** A client deletes it. */
  | { readonly type: "DELETE"; readonly at: number }
  /** Nothing needs it, and no host has it for this image. */
  | { readonly type: "IMAGE_REMOVED"; readonly at: number }

/** What a state means to other code. */
type Tag =
  /** It counts toward the account's number of images. */
  | "counted"
  /** A host pulls it, or makes it of its archive. */
  | "awaited"
  /** It changes by itself, and soon. */
  | "moving"
  /** A Sandbox can be made with it. It costs from here on. */
  | "bootable"
  /** It is on a host, and costs. */
  | "stored"
  /** Its hosts need nothing of it. */
  | "rootless"
  /** Nothing but its record is left. */
  | "gone"

const pullOver = { PULLED: "PULL_OVER", PULL_FAILED: "PULL_OVER" }
const notDeleting = { IMAGE_REMOVED: "IMAGE_NOT_DELETING" }

/** While it is neither deleted nor being deleted. */
const kept = { DELETE: { target: "deleting", description: "A client deletes it." } } as const

export const imageMachine = setup({
  types: {
    input: {} as ImageInput,
    context: {} as ImageContext,
    events: {} as ImageEvent,
    meta: {} as StateMeta,
    tags: {} as Tag
  },
  actions: {
    /** Command: have a host pull it, or make it of its archive; tried until the host has it or refuses it. Answers PULLED or PULL_FAILED. */
    pullImage: () => {},
    /** Command: have the hosts remove it once nothing needs it; tried until done. Answers IMAGE_REMOVED. */
    removeImage: () => {},
    /** Command: post what it cost up to here. Answers nothing. */
    meter: () => {},

    notePulled: assign(({ event }) => {
      if (event.type !== "PULLED") return {}
      const { digest, sizeBytes, storedBytes, env, at } = event
      return { digest, sizeBytes, storedBytes, env, readyAt: at }
    }),
    noteReason: assign({ statusReason: ({ event }) => ("reason" in event ? event.reason : null) }),
    noteDeleted: assign({ deletedAt: ({ event }) => event.at })
  }
}).createMachine({
  id: "image",
  version: "2",
  description: "The root file system for Sandboxes, pulled from a registry or uploaded as an archive.",
  // `input?.`: where only an actor's scope is wanted, one is made of this machine without input, and its context thrown away.
  context: ({ input }) => ({
    imageId: input?.imageId,
    accountId: input?.accountId,
    name: input?.name,
    reference: input?.reference,
    credentials: input?.credentials,
    digest: null,
    sizeBytes: null,
    storedBytes: null,
    env: null,
    statusReason: null,
    createdAt: input?.at,
    readyAt: null,
    deletedAt: null
  }),
  initial: "pulling",
  states: {
    pulling: {
      description: "Accepted durably; a host pulls it from its registry, or makes it of its archive.",
      tags: ["counted", "awaited", "moving"],
      meta: { unchanged: [], refuses: notDeleting },
      entry: [{ type: "pullImage" }],
      on: {
        DELETE: { target: "deleting", description: "A client deletes it; the pull is given up." },
        PULLED: {
          target: "ready",
          actions: ["notePulled", { type: "meter" }],
          description: "A host has the whole image."
        },
        PULL_FAILED: { target: "failed", actions: ["noteReason"], description: "The registry or the host refused it." }
      }
    },
    ready: {
      description: "A host has it. Sandboxes can be made with it.",
      tags: ["counted", "bootable", "stored"],
      meta: { unchanged: [], refuses: { ...pullOver, ...notDeleting } },
      on: kept
    },
    failed: {
      description: "It could not be made. The record tells why until it is deleted.",
      tags: ["counted", "rootless"],
      meta: { unchanged: [], refuses: { ...pullOver, ...notDeleting } },
      on: kept
    },
    deleting: {
      description: "It is being removed, once nothing needs it any more. Nothing leads back.",
      tags: ["counted", "stored", "moving"],
      meta: { unchanged: ["DELETE"], refuses: pullOver },
      entry: [{ type: "removeImage" }],
      on: {
        IMAGE_REMOVED: {
          target: "deleted",
          actions: ["noteDeleted", { type: "meter" }],
          description: "Nothing is left."
        }
      }
    },
    deleted: {
      type: "final",
      description: "Gone. The record and its log stay readable for the retention time.",
      tags: ["rootless", "gone"],
      meta: { unchanged: ["DELETE"], refuses: { ...pullOver, IMAGE_REMOVED: "IMAGE_DELETED" } }
    }
  }
})
