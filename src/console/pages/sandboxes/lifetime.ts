/** The limits of a Sandbox's lifetime, with their labels in forms. */
import type { Sandbox } from "../../../../schemas/Sandbox.ts"

export const lifetimeParts = {
  stopAfterSeconds: "Stop after running for",
  stopAfterIdleSeconds: "Stop when idle for",
  deleteAfterStoppedSeconds: "Delete, with its volume, when stopped for"
} as const

export type LifetimePart = keyof typeof lifetimeParts

export const partsOfLifetime = Object.keys(lifetimeParts) as ReadonlyArray<LifetimePart>

export type LifetimeSeconds = Pick<Sandbox["lifetime"], LifetimePart>
