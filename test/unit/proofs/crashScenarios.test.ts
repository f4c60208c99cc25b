/** Every endpoint that changes something is swept with a crash at each of its effects, or a reason says why it is not. */

import { Context } from "effect"
import { HttpApi } from "effect/http-api"
import { assert, describe, it } from "vitest"
import { ReadOnly } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { ConsoleApi } from "../../../schemas/console/ConsoleApi.ts"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import { scenarios } from "../../support/crash/effects/scenarios/every.ts"
import type { AskStep } from "../../support/crash/effects/scenarios/Scenario.ts"

/** By method and path. */
const unswept: Readonly<Record<string, string>> = {
  "POST /console/api/operator/hosts/:hostId/wish": "a host of a fleet: the sweep has no fleet",
  "POST /console/api/operator/hosts/:hostId/remove": "a host of a fleet: the sweep has no fleet",
  "POST /console/api/operator/doctor": "changes nothing: a separate process looks at the machine",
  "POST /console/api/operator/usage/verify": "changes nothing: it reads the books",
  "POST /console/api/operator/backups":
    "a separate process writes a file, which is whole or not there (test/system/ops/backup)"
}

const changing: Array<string> = []
for (const api of [Api, ConsoleApi, OperatorApi]) {
  HttpApi.reflect(api as typeof Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      if (endpoint.method !== "GET" && !Context.get(endpoint.annotations, ReadOnly))
        changing.push(`${endpoint.method} ${endpoint.path}`)
    }
  })
}

const asksOf = (step: AskStep): ReadonlyArray<AskStep> =>
  [step, step.otherwise, step.first].filter((one) => one !== undefined)

/** A request that is refused, as it shall be, changes nothing. */
const asked = scenarios
  .flatMap(({ steps }) => steps)
  .flatMap((step) => (step.type === "ask" ? asksOf(step) : []))
  .filter(({ status }) => status === undefined || status < 300)
  .map(({ method, path }) => `${method} ${path.startsWith("/console/") ? "" : "/api/v2"}${path.replace(/\?.*/, "")}`)

/** The one with the fewest parameters. */
const endpointOf = (request: string): string | undefined =>
  changing
    .filter((endpoint) => new RegExp(`^${endpoint.replaceAll(/:\w+/g, "[^/]+")}$`).test(request))
    .toSorted((a, b) => a.split(":").length - b.split(":").length)[0]

describe("a crash at each effect", () => {
  it("is tried with every endpoint that changes something", () => {
    const swept = new Set(asked.map(endpointOf))
    const missing = changing.filter((endpoint) => !swept.has(endpoint))
    assert.sameMembers(missing, Object.keys(unswept))
  })

  it("has no two scenarios or requests of one name", () => {
    const names = scenarios.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
    for (const { name, steps } of scenarios) {
      const asks = steps.flatMap((step) => (step.type === "ask" ? [step.name] : []))
      assert.strictEqual(new Set(asks).size, asks.length, name)
    }
  })
})
