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
  ],
  [
    "a boot that the host ends after its Sandbox went to sleep",
    [
      { type: "disturb", rule: { call: "provision", phase: "before", action: "hold", left: 1 } },
      { type: "create", life: 0, sandbox: 0, body: 0 },
      { type: "crash", life: 0, meanwhile: [] },
      { type: "advance", ms: 35_000 },
      { type: "finishBoot", index: 0 }
    ]
  ]
]
