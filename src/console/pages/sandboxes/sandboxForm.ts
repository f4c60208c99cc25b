/** Converts a form to a request that creates or changes a Sandbox. */
import type { CreateSandboxRequest, Sandbox, UpdateSandboxRequest } from "../../../../schemas/Sandbox.ts"
import { readAll } from "../ui/fieldFaults.ts"
import { type LifetimePart, type LifetimeSeconds, lifetimeParts, partsOfLifetime } from "./lifetime.ts"
import { linesWithKeys, metadataOf, pairsOf } from "./pairs.ts"
import { secondsOf } from "./span.ts"

/** The form's values as typed. */
export interface Given extends Readonly<Record<LifetimePart, string>> {
  readonly name: string
  readonly metadata: string
  readonly env: string
}

export const givenOf = (data: FormData): Given => {
  const text = (name: keyof Given) => String(data.get(name))
  return {
    name: text("name"),
    metadata: text("metadata"),
    env: text("env"),
    stopAfterSeconds: text("stopAfterSeconds"),
    stopAfterIdleSeconds: text("stopAfterIdleSeconds"),
    deleteAfterStoppedSeconds: text("deleteAfterStoppedSeconds")
  }
}

const lifetimeOf = (given: Given): LifetimeSeconds => {
  const secondsIn = (part: LifetimePart) => () => secondsOf(lifetimeParts[part], given[part])
  return readAll<LifetimeSeconds>({
    stopAfterSeconds: secondsIn("stopAfterSeconds"),
    stopAfterIdleSeconds: secondsIn("stopAfterIdleSeconds"),
    deleteAfterStoppedSeconds: secondsIn("deleteAfterStoppedSeconds")
  })
}

const variables = "Variables"

/** Throws all mistakes together, each under the name of its field. */
export const newOf = (given: Given): Required<Pick<CreateSandboxRequest, "name" | "metadata" | "env" | "lifetime">> => {
  const { metadata, env, lifetime } = readAll({
    metadata: () => metadataOf(given.metadata),
    env: (): Record<string, string> => Object.fromEntries(pairsOf(variables, given.env)),
    lifetime: () => lifetimeOf(given)
  })
  return {
    name: given.name.trim() || null,
    metadata,
    env,
    lifetime: partsOfLifetime.every((part) => lifetime[part] === null) ? null : lifetime
  }
}

/** The text without line breaks, which a one-line field drops. */
export const inField = (name: string | null): string => (name ?? "").replace(/[\r\n]/g, "")

const isWhole = (text: string): boolean => text === text.trim() && !/[\r\n]/.test(text)

/** Pairs that a multi-line field can hold unchanged; the others are not edited. */
export const pairsInField = (metadata: Sandbox["metadata"]): ReadonlyArray<readonly [key: string, value: string]> =>
  Object.entries(metadata).filter(([key, value]) => key !== "" && !key.includes("=") && isWhole(key) && isWhole(value))

const merged = <A>(pairs: ReadonlyArray<readonly [string, A]>): Record<string, A> | undefined =>
  pairs.length === 0 ? undefined : Object.fromEntries(pairs)

const metadataChanges = (metadata: Sandbox["metadata"], text: string) => {
  const [before, after] = [new Map(Object.entries(metadata)), new Map(Object.entries(metadataOf(text)))]
  return merged<string | null>([
    ...[...after].filter(([key, value]) => before.get(key) !== value),
    ...pairsInField(metadata).flatMap(([key]) => (after.has(key) ? [] : [[key, null] as const]))
  ])
}

/** A name alone keeps its value, which only the service knows. */
const envChanges = (names: Sandbox["envNames"], text: string) => {
  const after = new Map(linesWithKeys(variables, text))
  for (const [name, value] of after) {
    if (value === null && !names.includes(name))
      throw new Error(`${variables}: “${name}” has no value: write ${name}=value.`)
  }
  return merged<string | null>([
    ...[...after].filter(([, value]) => value !== null),
    ...names.flatMap((name) => (after.has(name) ? [] : [[name, null] as const]))
  ])
}

const lifetimeChanges = (before: LifetimeSeconds, after: LifetimeSeconds) =>
  merged(partsOfLifetime.flatMap((part) => (after[part] === before[part] ? [] : [[part, after[part]] as const])))

/** Only the differences from the shown state, because others may change the rest meanwhile. Null: no changes. */
export const changesOf = (shown: Sandbox, given: Given): UpdateSandboxRequest | null => {
  const { metadata, env, lifetime } = readAll({
    metadata: () => metadataChanges(shown.metadata, given.metadata),
    env: () => envChanges(shown.envNames, given.env),
    lifetime: () => lifetimeChanges(shown.lifetime, lifetimeOf(given))
  })
  const changes: UpdateSandboxRequest = {
    ...(given.name === inField(shown.name) ? {} : { name: given.name.trim() || null }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(env === undefined ? {} : { env }),
    ...(lifetime === undefined ? {} : { lifetime })
  }
  return Object.keys(changes).length === 0 ? null : changes
}
