/** Lists of steps that failed once, reduced by hand. */
import type { Step } from "./steps.ts"

export const onceFailed: ReadonlyArray<readonly [what: string, steps: ReadonlyArray<Step>]> = [
  [
    "a change by an owner that has missed another one's change",
    [
      { type: "create", life: 0, sandbox: 0, body: 0 },
      { type: "twin" },
      { type: "update", life: 1, sandbox: 0, change: 4 },
      { type: "update", life: 0, sandbox: 0, change: 5 }
    ]
  ]
]
