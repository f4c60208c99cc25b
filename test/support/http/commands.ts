/** Commands that simulated machines know by special words, and real ones as a shell's. */
import { isOverAFleet } from "../fleet/isOverAFleet.ts"

/** Prints `hanging` and a line feed, and runs until it is ended. */
export const hang: ReadonlyArray<string> = isOverAFleet ? ["sh", "-c", "echo hanging; exec sleep infinity"] : ["hang"]

/** As the list of processes shows it, once it has printed. */
export const hanging: ReadonlyArray<string> = isOverAFleet ? ["sleep", "infinity"] : hang

export const exit = (code: number): ReadonlyArray<string> =>
  isOverAFleet ? ["sh", "-c", `exit ${code}`] : ["exit", String(code)]
