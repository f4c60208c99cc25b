/** This process by its pid, its start and its host's boot: so that the next one knows at its start whether it is dead (`SoleOwner.ts`). */
import { readlinkSync } from "node:fs"
import { Layer, Option, Schema } from "effect"
import { identify, isAlive, isOfThisBoot } from "../host/linux/ProcessIdentity.ts"
import { WrittenProcess } from "../host/linux/SandboxRecords.ts"
import { ThisClaimant } from "../store/SoleOwner.ts"

/** A pid means something only in its namespace: containers of one host have their own. */
const namespaceOf = (): string => readlinkSync("/proc/self/ns/pid")

const Named = Schema.fromJsonString(Schema.Struct({ namespace: Schema.String, process: WrittenProcess }))

const isDead = (name: string): boolean => {
  const named = Option.getOrNull(Schema.decodeUnknownOption(Named)(name))
  if (named === null || named.namespace !== namespaceOf() || !isOfThisBoot(named.process)) return false
  return !isAlive(named.process)
}

export const thisClaimant = Layer.sync(ThisClaimant, () => ({
  name: JSON.stringify({ namespace: namespaceOf(), process: identify(process.pid)! }),
  isDead
}))
