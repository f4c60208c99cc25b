/** Lists of steps that failed once, made small by hand. */
import type { Step } from "./steps.ts"

export const onceFailed: ReadonlyArray<readonly [what: string, steps: ReadonlyArray<Step>]> = [
  [
    "a change by an owner that has missed another one's change",
    [
      // First of all: the time that passes while it starts would let the other one forget what it remembers.
      { type: "twin" },
      { type: "create", life: 0, sandbox: 0, body: 0 },
      { type: "update", life: 1, sandbox: 0, change: 4 },
      { type: "update", life: 0, sandbox: 0, change: 5 }
    ]
  ]
]
