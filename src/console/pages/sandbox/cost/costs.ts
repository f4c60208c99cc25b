/** The cost of one Sandbox and its snapshots, which may outlive it, loaded in windows of the service's maximum length; their sums are exact. */
import type { Cost } from "../../../../../schemas/Usage.ts"
import { get, queryOf } from "../../api.ts"

interface Answer {
  readonly costs: ReadonlyArray<Cost>
  readonly totalMicroUsd: number
  readonly burnMicroUsdPerHour: number
  readonly asOf: string
}

export interface LifeCosts {
  /** One for each UTC day, in order. */
  readonly days: ReadonlyArray<Cost>
  readonly from: string
  readonly to: string
  readonly totalMicroUsd: bigint
  readonly vcpuMicroUsd: bigint
  readonly memoryMicroUsd: bigint
  readonly volumeMicroUsd: bigint
  readonly snapshotMicroUsd: bigint
  readonly burnMicroUsdPerHour: number
  readonly asOf: string
}

const dayMs = 86_400_000
/** In whole UTC days; the service takes up to 400. */
const windowDays = 366

/** Windows from the first day of a life to the end of its last day, epoch milliseconds. */
const windowsOf = (from: number, to: number): ReadonlyArray<readonly [from: number, to: number]> => {
  const windows: Array<readonly [number, number]> = []
  for (let at = from; at < to; at += windowDays * dayMs) windows.push([at, Math.min(to, at + windowDays * dayMs)])
  return windows
}

const sum = (amounts: ReadonlyArray<number>): bigint => amounts.reduce((sum, amount) => sum + BigInt(amount), 0n)

export const lifeCosts = async (
  { id, createdAt, deletedAt }: { readonly id: string; readonly createdAt: string; readonly deletedAt: string | null },
  now: number,
  signal: AbortSignal
): Promise<LifeCosts> => {
  const dayOf = (at: number) => Math.floor(at / dayMs) * dayMs
  const from = dayOf(Date.parse(createdAt))
  const ended = dayOf(deletedAt === null ? now : Date.parse(deletedAt)) + dayMs
  const answers: Array<Answer> = []
  for (const [begin, end] of windowsOf(from, Math.max(ended, dayOf(now) + dayMs))) {
    const window = { from: new Date(begin).toISOString(), to: new Date(end).toISOString() }
    answers.push(
      await get<Answer>(`/api/v2/usage/costs${queryOf({ ...window, groupBy: "day", sandboxId: id })}`, signal)
    )
  }
  const days = answers.flatMap(({ costs }) => costs)
  const newest = answers.at(-1)!
  const lastCost = days.length === 0 ? ended : Date.parse(days.at(-1)!.key) + dayMs
  return {
    days,
    from: new Date(from).toISOString(),
    to: new Date(Math.max(ended, lastCost)).toISOString(),
    totalMicroUsd: sum(answers.map(({ totalMicroUsd }) => totalMicroUsd)),
    vcpuMicroUsd: sum(days.map(({ components }) => components.vcpuMicroUsd)),
    memoryMicroUsd: sum(days.map(({ components }) => components.memoryMicroUsd)),
    volumeMicroUsd: sum(days.map(({ components }) => components.volumeMicroUsd)),
    snapshotMicroUsd: sum(days.map(({ components }) => components.snapshotMicroUsd)),
    burnMicroUsdPerHour: newest.burnMicroUsdPerHour,
    asOf: newest.asOf
  }
}
