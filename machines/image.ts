/**
 * The life of one image of an account: the root file system for Sandboxes, pulled from a registry, or made of an archive that a host has received.
 * A build makes that archive: in a Sandbox that was created before the image, so that a deletion always knows it.
 *
 * Every image begins as `pulling`; one that has to be built goes to `building` from there, before anything is pulled.
 *
 * An image that was uploaded or built is only on hosts. It fails once no host has it, and is ready again when a host has it after all.
 *
 * A deletion wins over a pull or a build that still runs. The bytes of an image leave the hosts only when no image of any account has the same digest, and no
 * Sandbox and no snapshot needs it (`src/image/`).
 */
import { assign, setup } from "xstate"
import type { ImageContext } from "../schemas/contexts/Image.ts"
import type { PublicReason } from "../schemas/PublicText.ts"
import type { StateMeta } from "./meta.ts"

export interface ImageInput extends Pick<ImageContext, "imageId" | "accountId" | "name" | "reference" | "credentials"> {
  /** Absent: nothing is built, as of an image of before version 3. */
  readonly build?: ImageContext["build"]
  readonly at: number
}

/** A context as it is stored, brought to this version. */
export const imageOfThisVersion = (context: ImageContext): ImageContext =>
  context.build === undefined ? { ...context, build: null } : context

export type ImageEvent =
  /** It has to be built first. */
  | { readonly type: "BUILD"; readonly at: number }
  /** The build's command is accepted in its Sandbox. */
  | { readonly type: "BUILD_BEGUN"; readonly at: number; readonly operationId: string }
  /** A host has the archive that the build made. */
  | { readonly type: "BUILT"; readonly at: number }
  /** The build made none, and will not. */
  | { readonly type: "BUILD_FAILED"; readonly at: number; readonly reason: PublicReason }
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
  /** No host has it any more. */
  | { readonly type: "IMAGE_LOST"; readonly at: number; readonly reason: PublicReason }
  /** A host has it after all. */
  | { readonly type: "IMAGE_FOUND"; readonly at: number }
  /** A client deletes it. */
  | { readonly type: "DELETE"; readonly at: number }
  /** Nothing needs it, and no host has it for this image. */
  | { readonly type: "IMAGE_REMOVED"; readonly at: number }

/** What a state means to other code. */
type Tag =
  /** It counts toward the account's number of images. */
  | "counted"
  /** Its archive is being made. */
  | "built"
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
const buildOver = { BUILD: "BUILD_OVER", BUILD_BEGUN: "BUILD_OVER", BUILT: "BUILD_OVER", BUILD_FAILED: "BUILD_OVER" }
const over = { ...pullOver, ...buildOver }
const notLost = { IMAGE_LOST: "IMAGE_NOT_LOST", IMAGE_FOUND: "IMAGE_NOT_LOST" }
const notDeleting = { ...notLost, IMAGE_REMOVED: "IMAGE_NOT_DELETING" }

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
  guards: {
    /** Its archive is still to be built. */
    isUnbuilt: ({ context }) => context.build?.isOver === false,
    /** No registry has it. */
    isUploaded: ({ context }) => context.reference === null,
    /** It was ready. */
    wasReady: ({ context }) => context.readyAt !== null
  },
  actions: {
    /** Command: have a host pull it, or make it of its archive; tried until the host has it or refuses it. Answers PULLED or PULL_FAILED; of one that has to be built first, BUILD. */
    pullImage: () => {},
    /** Command: run its build in its Sandbox, once, and have a host take the archive that comes of it. Answers BUILT or BUILD_FAILED. */
    buildImage: () => {},
    /** Command: delete the build's Sandbox, retried until that is committed. Answers nothing. */
    endBuild: () => {},
    /** Command: end its build, and have the hosts remove it once nothing needs it; tried until done. Answers IMAGE_REMOVED. */
    removeImage: () => {},
    /** Command: post what it cost up to here. Answers nothing. */
    meter: () => {},

    noteOperation: assign(({ context: { build }, event }) =>
      build === null || event.type !== "BUILD_BEGUN" ? {} : { build: { ...build, operationId: event.operationId } }
    ),
    noteBuildOver: assign(({ context: { build } }) => (build === null ? {} : { build: { ...build, isOver: true } })),
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
  version: "3",
  description: "The root file system for Sandboxes, pulled from a registry, uploaded as an archive, or built.",
  // `input?.`: where only an actor's scope is wanted, one is made of this machine without input, and its context thrown away.
  context: ({ input }) => ({
    imageId: input?.imageId,
    accountId: input?.accountId,
    name: input?.name,
    reference: input?.reference,
    credentials: input?.credentials,
    build: input?.build ?? null,
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
      meta: { unchanged: [], refuses: { ...buildOver, ...notDeleting } },
      entry: [{ type: "pullImage" }],
      on: {
        BUILD: { guard: "isUnbuilt", target: "building", description: "It is of a Dockerfile: it is built first." },
        DELETE: { target: "deleting", description: "A client deletes it; the pull is given up." },
        PULLED: {
          target: "ready",
          actions: ["notePulled", { type: "meter" }],
          description: "A host has the whole image."
        },
        PULL_FAILED: { target: "failed", actions: ["noteReason"], description: "The registry or the host refused it." }
      }
    },
    building: {
      description: "Its archive is being built in a Sandbox.",
      tags: ["counted", "built", "moving"],
      meta: { unchanged: ["BUILD"], refuses: { ...pullOver, ...notDeleting } },
      entry: [{ type: "buildImage" }],
      on: {
        DELETE: { target: "deleting", actions: ["noteBuildOver"], description: "A client deletes it; the build ends." },
        BUILD_BEGUN: { actions: ["noteOperation"], description: "The build's command is accepted in its Sandbox." },
        BUILT: {
          target: "pulling",
          actions: ["noteBuildOver", { type: "endBuild" }],
          description: "A host has the archive; it is made of that."
        },
        BUILD_FAILED: {
          target: "failed",
          actions: ["noteBuildOver", "noteReason", { type: "endBuild" }],
          description: "The build failed, and its output tells why."
        }
      }
    },
    ready: {
      description: "A host has it. Sandboxes can be made with it.",
      tags: ["counted", "bootable", "stored"],
      meta: { unchanged: ["IMAGE_FOUND"], refuses: { ...over, ...notDeleting } },
      on: {
        ...kept,
        IMAGE_LOST: {
          guard: "isUploaded",
          target: "failed",
          actions: ["noteReason", { type: "meter" }],
          description: "No host has it any more."
        }
      }
    },
    failed: {
      description: "It could not be made, or is lost. The record tells why until it is deleted.",
      tags: ["counted", "rootless"],
      meta: { unchanged: ["IMAGE_LOST"], refuses: { ...over, ...notDeleting } },
      on: {
        ...kept,
        IMAGE_FOUND: {
          guard: "wasReady",
          target: "ready",
          actions: ["noteReason", { type: "meter" }],
          description: "A host has it after all."
        }
      }
    },
    deleting: {
      description: "It is being removed, once nothing needs it any more. Nothing leads back.",
      tags: ["counted", "stored", "moving"],
      meta: { unchanged: ["DELETE"], refuses: { ...over, ...notLost } },
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
      meta: { unchanged: ["DELETE"], refuses: { ...over, ...notLost, IMAGE_REMOVED: "IMAGE_DELETED" } }
    }
  }
})
