/** The sizes of a Sandbox: those that a request names, within the operator's bounds. */
import { availableParallelism, totalmem } from "node:os"
import { Effect } from "effect"
import { InvalidRequest } from "../../schemas/Errors.ts"
import type { GivenProfile, ProfileBounds, SandboxProfile } from "../../schemas/SandboxProfile.ts"
import type { SettingsShape } from "../Config.ts"

const mebibyte = 1024 ** 2
const fields = ["vcpus", "memoryBytes", "diskBytes"] as const

/** A default outside of its bounds is allowed: the operator chose it. */
const around = (minimum: number, maximum: number, usual: number) => ({
  minimum: Math.min(minimum, usual),
  maximum: Math.max(maximum, usual),
  default: usual
})

type SizeSettings = Pick<
  SettingsShape,
  | "sandboxVcpus"
  | "sandboxVcpusMin"
  | "sandboxVcpusMax"
  | "sandboxMemoryBytes"
  | "sandboxMemoryBytesMin"
  | "sandboxMemoryBytesMax"
  | "volumeBytes"
  | "volumeBytesMin"
  | "volumeBytesMax"
>

export const profileBounds = (settings: SizeSettings): ProfileBounds => ({
  vcpus: around(settings.sandboxVcpusMin, settings.sandboxVcpusMax || availableParallelism(), settings.sandboxVcpus),
  memoryBytes: around(
    settings.sandboxMemoryBytesMin,
    settings.sandboxMemoryBytesMax || Math.floor(totalmem() / 2 / mebibyte) * mebibyte,
    settings.sandboxMemoryBytes
  ),
  diskBytes: around(settings.volumeBytesMin, settings.volumeBytesMax, settings.volumeBytes)
})

/** The sizes of a new Sandbox. Absent and null: the operator's. */
export const usualProfile = (bounds: ProfileBounds): SandboxProfile => ({
  vcpus: bounds.vcpus.default,
  memoryBytes: bounds.memoryBytes.default,
  diskBytes: bounds.diskBytes.default
})

const range = (field: keyof SandboxProfile, minimum: number, maximum: number): string =>
  field === "vcpus"
    ? `${minimum} to ${maximum}`
    : `${minimum} to ${maximum} bytes (${minimum / mebibyte} to ${maximum / mebibyte} MiB)`

/** The sizes with those that a request names. A size that stays is not compared: the bounds may have changed since. */
export const profileWith = (
  before: SandboxProfile,
  given: GivenProfile | null | undefined,
  bounds: ProfileBounds
): Effect.Effect<SandboxProfile, InvalidRequest> => {
  const profile = { ...before }
  const issues = []
  for (const field of fields) {
    const size = given?.[field] ?? null
    if (size === null || size === before[field]) continue
    const { minimum, maximum } = bounds[field]
    if (size < minimum || size > maximum) {
      issues.push({
        path: ["profile", field],
        message: `Must be from ${range(field, minimum, maximum)} on this server.`
      })
    }
    profile[field] = size
  }
  return issues.length > 0 ? Effect.fail(new InvalidRequest({ details: { issues } })) : Effect.succeed(profile)
}
