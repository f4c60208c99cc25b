/** The end of a command in a Sandbox, as the exit code of a local command. */
import { constants } from "node:os"
import type { Operation } from "../../generated/schemas.ts"
import { exitCodes } from "../failure.ts"

/** Of Linux, where the Sandboxes run. */
const firstRealTime = 34

/** @param name `SIGTERM`, `SIGRTMIN+3`. Null: unknown. */
export const signalNumber = (name: string): number | null => {
  const realTime = /^SIGRTMIN(?:\+(\d+))?$/.exec(name)
  if (realTime !== null) return firstRealTime + Number(realTime[1] ?? 0)
  return (constants.signals as Readonly<Record<string, number>>)[name] ?? null
}

export interface Ended {
  readonly exitCode: number
  /** A message about it; null: its exit code says everything. */
  readonly said: string | null
}

export const endOf = ({ status, exitCode, signal, reason }: Operation): Ended => {
  if (status === "completed") {
    const code = exitCode ?? (signal === null ? null : 128 + (signalNumber(signal) ?? 0))
    return { exitCode: code ?? exitCodes.notRun, said: reason === null ? null : reason.message }
  }
  if (reason?.code === "TIMED_OUT") return { exitCode: exitCodes.timedOut, said: reason.message }
  return {
    exitCode: exitCodes.notRun,
    said: status === "cancelled" ? "The command was cancelled." : (reason?.message ?? `The command is ${status}.`)
  }
}
