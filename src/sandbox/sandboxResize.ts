/** The sizes that a change of a Sandbox leads to. */
import { Effect } from "effect"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import { InvalidRequest } from "../../schemas/Errors.ts"
import { type GivenProfile, MemoryInUse, type SandboxProfile } from "../../schemas/SandboxProfile.ts"
import { Settings } from "../Config.ts"
import { Runtime } from "../runtime/Runtime.ts"
import type { SandboxRecord } from "./ownSandbox.ts"
import { profileBounds, profileWith } from "./sandboxSizes.ts"
import { isUp } from "./sandboxStates.ts"

const wouldShrink = (diskBytes: number) =>
  new InvalidRequest({
    details: {
      issues: [{ path: ["profile", "diskBytes"], message: `A volume never shrinks: this one has ${diskBytes} bytes.` }]
    }
  })

export const sandboxResize = Effect.gen(function* () {
  const runtime = yield* Runtime
  const bounds = profileBounds(yield* Settings)

  /** Only a namespace Sandbox gets less while it runs. Its host looks once more: it may use more by then. */
  const requireMemory = Effect.fnUntraced(function* (
    { id, status }: SandboxRecord,
    { runtime: kind, generation, profile }: SandboxContext,
    { memoryBytes }: SandboxProfile
  ) {
    if (kind !== "namespace" || !isUp(status) || memoryBytes >= profile.memoryBytes) return
    const used = yield* Effect.match(runtime.sample(id, generation), {
      onSuccess: (sample) => sample.memoryBytes,
      onFailure: () => null
    })
    if (used !== null && used > memoryBytes) return yield* new MemoryInUse({ details: { usedBytes: Math.round(used) } })
  })

  /** Null: they stay as they are. */
  return Effect.fnUntraced(function* (
    record: SandboxRecord,
    context: SandboxContext,
    given: GivenProfile | null | undefined
  ): Effect.fn.Return<SandboxProfile | null, InvalidRequest | MemoryInUse> {
    const before = context.profile
    const after = yield* profileWith(before, given, bounds)
    if (after.diskBytes < before.diskBytes) return yield* wouldShrink(before.diskBytes)
    yield* requireMemory(record, context, after)
    const { vcpus, memoryBytes, diskBytes } = after
    const isSame = vcpus === before.vcpus && memoryBytes === before.memoryBytes && diskBytes === before.diskBytes
    return isSame ? null : after
  })
})
