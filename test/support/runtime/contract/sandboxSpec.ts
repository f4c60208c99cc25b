/** A small Sandbox for tests. */
import type { SandboxSpec } from "../../../../src/runtime/Runtime.ts"

const MiB = 1024 ** 2

export const sandboxSpec = (sandboxId: string, changes: Partial<SandboxSpec> = {}): SandboxSpec => ({
  sandboxId,
  generation: 1,
  vcpus: 1,
  memoryBytes: 256 * MiB,
  volumeBytes: 64 * MiB,
  networkEnabled: false,
  ...changes
})
