/** The second killer: a mutant that folds a recorded life otherwise than it went. */
import type { AnyStateMachine } from "xstate"
import { foldFault, type History, readHistories, recordedOrigins } from "../../../support/histories/History.ts"

export const livesOf = (kind: string): ReadonlyArray<History> =>
  recordedOrigins()
    .filter((origin) => origin.kind === kind)
    .flatMap(({ file }) => readHistories(file))

export const killByLives = (lives: ReadonlyArray<History>, mutant: AnyStateMachine): string | null => {
  for (const life of lives) {
    const fault = foldFault(life, mutant)
    if (fault !== null) return fault
  }
  return null
}
