/** The prices of a second, valid from an instant until the next card. A card never changes. */
export interface RateCard {
  /** Epoch milliseconds. */
  readonly effectiveAt: number
  /** Whole nano-USD for one vCPU and one second. */
  readonly vcpuSecondNanoUsd: bigint
  /** Whole nano-USD for one GiB of memory and one second. */
  readonly memoryGibSecondNanoUsd: bigint
  /** Whole nano-USD for one GiB of volume and one second. */
  readonly volumeGibSecondNanoUsd: bigint
  /** Whole nano-USD for one GiB that a snapshot stores and one second. */
  readonly snapshotGibSecondNanoUsd: bigint
  /** Epoch milliseconds. */
  readonly createdAt: number
}

/** A thousand dollars a second. */
export const rateMaxNanoUsd = 10n ** 12n

/** The card in force at an instant; before the first card everything is free. `cards` are in ascending order. */
export const cardAt = (cards: ReadonlyArray<RateCard>, at: number): RateCard | null =>
  cards.findLast((card) => card.effectiveAt <= at) ?? null
