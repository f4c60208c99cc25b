/** Acts of the operator, by the code that the command line runs: accounts, credit, keys, limits, rates, suspension. */
import { Effect } from "effect"
import { awaitLeases } from "../../../../../src/account/KeyLease.ts"
import { asOperator, operatorSettings, signedInAsOperator, slow } from "./operatorSteps.ts"
import type { AskStep, Scenario, ScenarioStep } from "./Scenario.ts"
import { argv, create, make, pass, post, read, remove, workspace } from "./steps.ts"

const money = (name: string, microUsd: number): AskStep => ({
  ...read(name, "/console/api/operator/accounts/{account}/money"),
  as: "operator",
  holds: ({ json }) => json.microUsd === microUsd
})

const knownAccount = (name: string): AskStep => ({
  ...read(`${name} is there`, `/console/api/operator/accounts?find=${name}`),
  as: "operator",
  holds: ({ json }) => json.accounts.length === 1
})

const account = (creditUsd: string): ReadonlyArray<ScenarioStep> => [
  ...signedInAsOperator,
  {
    ...asOperator("account", "/accounts", { name: "acme", email: null, billing: "prepaid", creditUsd }),
    first: knownAccount("acme")
  }
]

/** Without an answer the operator looks at the credit before giving it again, once the first request is over. */
const give = (name: string, usd: string, first: AskStep): AskStep =>
  slow({
    ...asOperator(name, "/accounts/{account}/credit", { usd, kind: "purchase", expiresAt: null, description: null }),
    isOnce: true,
    first
  })

const key = (name: string): AskStep =>
  slow(asOperator(name, "/keys", { account: "acme", name, scopes: "all", expiresAt: null }))

const may = (name: string, who: string, status: number | null): AskStep => ({
  ...read(name, "/me"),
  as: who,
  ...(status === null ? {} : { status })
})

const by = (who: string, step: AskStep, isRepeated = step.isRepeated): AskStep => ({ ...step, as: who, isRepeated })

/** A service uses what it read of an account for a tenth of a second of real time, in which the run's clock may pass any time. */
const leaseEnds: ScenarioStep = { type: "command", name: "a lease ends", run: Effect.as(awaitLeases, []) }

const limits = { sandboxes: "3", workspaces: "setting", workspaceStorageBytes: "setting" }
const rates = {
  vcpuSecond: "20000",
  memoryGibSecond: "5000",
  volumeGibSecond: "40",
  snapshotGibSecond: "20",
  effectiveAt: null
}

export const operatorScenarios: ReadonlyArray<Scenario> = [
  {
    name: "credit",
    environment: operatorSettings,
    steps: [
      ...account("1.50"),
      money("before", 1_500_000),
      give("purchase", "2", money("purchase is there", 3_500_000)),
      { ...money("after", 3_500_000), isRepeated: true }
    ]
  },
  {
    name: "account",
    environment: operatorSettings,
    steps: [
      ...account("1"),
      key("first"),
      key("second"),
      may("first works", "first", null),
      asOperator("limits", "/accounts/{account}/limits", limits),
      slow(asOperator("revoke", "/keys/{second}/revoke")),
      { ...may("second is over", "second", 401), isRepeated: true },
      slow(asOperator("suspend", "/accounts/{account}/suspend")),
      may("suspended", "first", 403),
      slow(asOperator("resume", "/accounts/{account}/resume")),
      { ...may("resumed", "first", null), isRepeated: true },
      asOperator("rates", "/rates", rates),
      { ...slow(asOperator("end", "/sessions/end")), otherwise: { ...may("end done", "operator", 401) } },
      {
        ...read("the operator is out", "/console/api/operator/session"),
        as: "operator",
        status: 401,
        isRepeated: true
      },
      { ...read("what the operator may", "/console/api/operator/keys"), as: "operator", status: 401, isRepeated: true }
    ]
  },
  {
    name: "suspension",
    environment: operatorSettings,
    steps: [
      ...account("5"),
      key("first"),
      by("first", workspace, false),
      by("first", create(), false),
      by("first", make("hang", "/sandboxes/{create}/operations", argv("hang")), false),
      by("first", post("look", "/sandboxes/{create}/operations/{hang}/wait", { timeoutSeconds: 5, stdoutOffset: 0 })),
      slow(asOperator("suspend", "/accounts/{account}/suspend")),
      pass(6000),
      slow(asOperator("resume", "/accounts/{account}/resume")),
      by("first", post("start", "/sandboxes/{create}/start?wait=running", {})),
      { ...asOperator("out", "/sign-out"), otherwise: may("out done", "operator", 401) }
    ]
  },
  {
    name: "credit that runs out",
    environment: operatorSettings,
    steps: [
      ...account("0.0003"),
      key("first"),
      by("first", workspace),
      by("first", create()),
      pass(20_000),
      leaseEnds,
      by("first", { ...post("too late", "/sandboxes/{create}/start", {}), status: 402 }),
      give("more", "5", { ...money("more is there", 0), holds: ({ json }) => json.microUsd > 4_000_000 }),
      by("first", post("start", "/sandboxes/{create}/start?wait=running", {})),
      by("first", remove("delete", "/sandboxes/{create}"))
    ]
  }
]
