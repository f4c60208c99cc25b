/** The operator's session, and what it asks. */
import { Effect } from "effect"
import { OperatorSessions } from "../../../../../src/console/server/OperatorSessions.ts"
import type { AskStep, ScenarioStep } from "./Scenario.ts"
import { post } from "./steps.ts"

/** Links of the console name it. */
export const operatorSettings = { ATOLL_PUBLIC_URL: "http://127.0.0.1:4000" }

export const slow = (step: AskStep): AskStep => ({ ...step, isSlow: true })

/** What `atoll operator link` does, three times: a link works once, and the answer to a sign-in may be lost. */
const links: ScenarioStep = {
  type: "command",
  name: "atoll operator link",
  run: Effect.flatMap(OperatorSessions, ({ createLink }) =>
    Effect.forEach([1, 2, 3], (nth) => Effect.map(createLink, ({ code }) => [`link${nth}`, code] as const))
  ).pipe(Effect.provide(OperatorSessions.layer))
}

const enter = (nth: number, otherwise?: AskStep): AskStep => ({
  ...post(`operator ${nth}`, "/console/api/operator/sign-in", { code: `{link${nth}}` }),
  as: null,
  ...(otherwise === undefined ? {} : { otherwise })
})

export const signedInAsOperator: ReadonlyArray<ScenarioStep> = [
  links,
  { ...enter(1, enter(2, enter(3))), name: "operator" },
  { ...enter(1), name: "the operator's used link", status: 401, isRepeated: true }
]

export const asOperator = (name: string, path: string, body?: unknown): AskStep => ({
  ...post(name, `/console/api/operator${path}`, body),
  as: "operator"
})
