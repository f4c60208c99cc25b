/** Costs and sizes in examples. */
import { sandboxId } from "./ids.ts"

const mebibyte = 1024 * 1024
const gibibyte = 1024 * mebibyte

export const cost = {
  key: sandboxId,
  name: "analysis",
  microUsd: 14_430,
  sandboxSeconds: 3600,
  components: { vcpuMicroUsd: 10_080, memoryMicroUsd: 4050, volumeMicroUsd: 300, snapshotMicroUsd: 0 }
}

export const profileBounds = {
  vcpus: { minimum: 0.1, maximum: 4, default: 1 },
  memoryBytes: { minimum: 256 * mebibyte, maximum: 4 * gibibyte, default: 512 * mebibyte },
  diskBytes: { minimum: 256 * mebibyte, maximum: 16 * gibibyte, default: gibibyte }
}
