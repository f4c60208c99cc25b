/** Contexts of the Sandbox's machine as earlier versions stored them, and what a Sandbox was made from. */
import type { SandboxContext } from "../schemas/contexts/Sandbox.ts"
import { withCheckpoints } from "./checkpoints.ts"
import type { SandboxInput } from "./sandbox.ts"

/** What a context of version 4 did not have. */
const beforeRollbacks = { rollback: null, image: null }
/** What a context of version 3 did not have. */
const startedEmpty = { ...beforeRollbacks, snapshotId: null }
/** What a context of version 2 did not have. */
const ofOneHost = { ...startedEmpty, hostId: null }
/** What a context of version 1 did not have. */
const unlimited = { ...ofOneHost, env: null, lifetime: null, upAt: null, idleStopAt: null, edition: 1, madeWith: null }

/** Before version 4 a change left its sizes as they were made. */
const madeWithSizes = (context: SandboxContext): SandboxContext =>
  context.madeWith === null || context.madeWith.profile !== undefined
    ? context
    : { ...context, madeWith: { ...context.madeWith, profile: context.profile } }

const ofOlder = (value: string, context: SandboxContext): SandboxContext =>
  context.edition === undefined
    ? { ...unlimited, ...context, upAt: value === "running" || value === "sleeping" ? context.startedAt : null }
    : madeWithSizes(
        context.hostId === undefined
          ? { ...ofOneHost, ...context }
          : context.snapshotId === undefined
            ? { ...startedEmpty, ...context }
            : context.rollback === undefined
              ? { ...beforeRollbacks, ...context }
              : context
      )

/** Before version 6 nothing was built. */
const withBuild = (context: SandboxContext): SandboxContext =>
  context.buildsImageId === undefined ? { ...context, buildsImageId: null } : context

/** A context as it is stored, brought to this version; one of this version stays as it is. */
export const ofThisVersion = (value: string, context: SandboxContext): SandboxContext =>
  withBuild(withCheckpoints(ofOlder(value, context)))

/** The input that it was made from, by its context: a fold of its log begins with that. */
export const inputOf = (context: SandboxContext): SandboxInput => ({
  ...context,
  ...context.madeWith,
  at: context.createdAt
})
