/** Applies a client's change: a JSON Merge Patch (RFC 7396) of a Sandbox's properties, with the same limits as for a new one. */
import { Effect, Schema } from "effect"
import type { Checkpoints, Lifetime, SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import { InvalidRequest } from "../../schemas/Errors.ts"
import {
  checkpointsKeepDefault,
  metadataMaxPairs,
  sandboxEnvMaxBytes,
  sandboxEnvMaxPairs
} from "../../schemas/Limits.ts"
import {
  type CreateSandboxRequest,
  SandboxEnv,
  SandboxMetadata,
  type UpdateSandboxRequest
} from "../../schemas/Sandbox.ts"

const noLifetime: Lifetime = { stopAfterSeconds: null, stopAfterIdleSeconds: null, deleteAfterStoppedSeconds: null }

type GivenLifetime = CreateSandboxRequest["lifetime"]

/** Null: the Sandbox has no lifetime. */
export const lifetimeOf = (before: Lifetime | null, given: GivenLifetime): Lifetime | null => {
  if (given === null) return null
  const lifetime = { ...noLifetime, ...before, ...given }
  return Object.values(lifetime).every((part) => part === null) ? null : lifetime
}

/** Null: the Sandbox takes none by itself. */
export const checkpointsOf = (
  before: Checkpoints | null,
  given: CreateSandboxRequest["checkpoints"]
): Checkpoints | null => {
  if (given === null) return null
  const { everySeconds, onStop, keep } = { ...before, ...given }
  const wanted = {
    everySeconds: everySeconds ?? null,
    onStop: onStop ?? false,
    keep: keep ?? checkpointsKeepDefault
  }
  return wanted.everySeconds === null && !wanted.onStop ? null : wanted
}

type Pairs = Readonly<Record<string, string>>

const merged = (before: Pairs, given: Readonly<Record<string, string | null>> | null): Pairs =>
  given === null
    ? {}
    : Object.fromEntries(
        Object.entries({ ...before, ...given }).filter((pair): pair is [string, string] => pair[1] !== null)
      )

const tooMuch = (field: string, message: string) =>
  new InvalidRequest({ details: { issues: [{ path: [field], message }] } })

const isMetadata = Schema.is(SandboxMetadata)
const isEnv = Schema.is(SandboxEnv)

export const metadataAfter = (
  { metadata }: Pick<SandboxContext, "metadata">,
  given: NonNullable<UpdateSandboxRequest["metadata"]> | null
): Effect.Effect<Pairs, InvalidRequest> => {
  const pairs = merged(metadata, given)
  return isMetadata(pairs)
    ? Effect.succeed(pairs)
    : Effect.fail(tooMuch("metadata", `It would have more than ${metadataMaxPairs} pairs.`))
}

export const envAfter = (
  before: Pairs,
  given: NonNullable<UpdateSandboxRequest["env"]> | null
): Effect.Effect<Pairs, InvalidRequest> => {
  const pairs = merged(before, given)
  return isEnv(pairs)
    ? Effect.succeed(pairs)
    : Effect.fail(
        tooMuch(
          "env",
          `It would have more than ${sandboxEnvMaxPairs} variables, or more than ${sandboxEnvMaxBytes} bytes.`
        )
      )
}
