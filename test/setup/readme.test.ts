import { readFileSync } from "node:fs"
import { join } from "node:path"
import { OpenApi } from "effect/http-api"
import { assert, describe, it } from "vitest"
import { Api } from "../../schemas/Api.ts"

const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8")

/** `METHOD /path` of every curl of the README's table, ids as `{}`. */
const shown = [...readme.matchAll(/`curl ([^`]*\$U\/[^`]*)`/g)].map(([, curl]) => {
  const method = /-X ([A-Z]+)/.exec(curl!)?.[1] ?? "GET"
  const path = /\$U(\/[^\s"?]*)/.exec(curl!)![1]!
  return `${method} /api/v2${path.replace(/\$[A-Z]+/g, "{}")}`
})

const served = Object.entries(OpenApi.fromApi(Api).paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, "{}")}`)
)

describe("the README", () => {
  it("shows one curl for each endpoint, and none that there is not", () => {
    assert.deepStrictEqual(shown.toSorted(), served.toSorted())
  })
})
