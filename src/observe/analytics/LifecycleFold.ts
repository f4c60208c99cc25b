/** The lifecycle part of a Sandbox's analytics: a pure fold over its transition log. */
import { beginsGeneration } from "../../../machines/sandbox.ts"
import { isUp } from "../../sandbox/sandboxStates.ts"
import type { LogEntry } from "../../store/Actors.ts"

export interface Lifecycle {
  readonly boots: number
  readonly runningSeconds: number
  readonly transitions: ReadonlyArray<{
    readonly at: number
    readonly from: string | null
    readonly to: string
    readonly reason: string | null
  }>
}

const reasonOf = (entry: LogEntry): string => {
  const reason = entry.event["reason"] as { readonly code?: string } | undefined
  return reason?.code ?? entry.event.type
}

/**
 * @param log The whole log, oldest first.
 * @param window Epoch milliseconds, `to` exclusive; a run that still lasts counts up to `to`.
 * @param generation Only this boot; null for all.
 */
export const foldLifecycle = (
  log: ReadonlyArray<LogEntry>,
  window: { readonly from: number; readonly to: number },
  generation: number | null
): Lifecycle => {
  let current = 1
  let runningSince: number | null = null
  let runningMs = 0
  let boots = 0
  const transitions: Array<Lifecycle["transitions"][number]> = []
  const isWanted = () => generation === null || current === generation
  const endRun = (at: number) => {
    if (runningSince !== null && isWanted()) {
      runningMs += Math.max(0, Math.min(at, window.to) - Math.max(runningSince, window.from))
    }
    runningSince = null
  }
  let booted = 0
  for (const entry of log) {
    const { at, from, to } = entry
    if (from === to) continue
    if (isUp(from)) endRun(at)
    if (beginsGeneration(from, to)) current++
    const inWindow = at >= window.from && at < window.to
    if (isUp(to)) {
      runningSince = at
      if (booted !== current) {
        booted = current
        if (inWindow && isWanted()) boots++
      }
    }
    if (inWindow && isWanted()) transitions.push({ at, from, to, reason: reasonOf(entry) })
  }
  endRun(window.to)
  return { boots, runningSeconds: runningMs / 1000, transitions }
}
