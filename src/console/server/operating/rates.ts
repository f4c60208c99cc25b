/** Rates as the operator sees them. */
import { Effect } from "effect"
import { Settings } from "../../../Config.ts"
import { milliVcpus } from "../../../wallet/Cost.ts"
import { formatUsd } from "../../../wallet/Money.ts"
import type { RateCard } from "../../../wallet/RateCard.ts"
import { time } from "./times.ts"

/** The output of `--json`: rates are far below 2^53. */
export const cardDocument = (card: RateCard) => ({
  effectiveAt: time(card.effectiveAt),
  vcpuSecondNanoUsd: Number(card.vcpuSecondNanoUsd),
  memoryGibSecondNanoUsd: Number(card.memoryGibSecondNanoUsd),
  volumeGibSecondNanoUsd: Number(card.volumeGibSecondNanoUsd),
  snapshotGibSecondNanoUsd: Number(card.snapshotGibSecondNanoUsd),
  createdAt: time(card.createdAt)
})

const gib = 2n ** 30n

/** Dollars for an hour of a Sandbox of the settings' size, rounded down. */
export const hourlyCost = Effect.map(Settings, ({ sandboxVcpus, sandboxMemoryBytes, volumeBytes }) => {
  const running = (card: RateCard): bigint =>
    (milliVcpus(sandboxVcpus) * card.vcpuSecondNanoUsd * gib) / 1000n +
    BigInt(sandboxMemoryBytes) * card.memoryGibSecondNanoUsd
  const kept = (card: RateCard): bigint => BigInt(volumeBytes) * card.volumeGibSecondNanoUsd
  const shown = (nanoUsdGib: bigint): string => formatUsd((nanoUsdGib * 3600n) / gib / 1000n)
  return {
    running: (card: RateCard) => shown(running(card) + kept(card)),
    stopped: (card: RateCard) => shown(kept(card))
  }
})
