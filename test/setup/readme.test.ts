import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { OpenApi } from "effect/http-api"
import { assert, describe, it } from "vitest"
import { Api } from "../../schemas/Api.ts"

const root = join(import.meta.dirname, "../..")
const readme = readFileSync(join(root, "README.md"), "utf8")

/** `METHOD /path` of every call of the README's table, ids as `{}`. */
const shown = [...readme.matchAll(/`(?:curl|websocat) ([^`]*\$(?:U|\{U#http\})\/[^`]*)`/g)].map(([, call]) => {
  const method = /-X ([A-Z]+)/.exec(call!)?.[1] ?? "GET"
  const path = /\$(?:U|\{U#http\})(\/[^\s"?]*)/.exec(call!)![1]!
  return `${method} /api/v2${path.replace(/\$[A-Z]+/g, "{}")}`
})

const served = Object.entries(OpenApi.fromApi(Api).paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, "{}")}`)
)

describe("the README", () => {
  it("shows one call for each endpoint, and none that there is not", () => {
    assert.deepStrictEqual(shown.toSorted(), served.toSorted())
  })

  it("shows each picture of the console once, with words for who does not see it, and none that there is not", () => {
    const pictures = Array.from(
      readme.matchAll(/!\[([^\]]{8,})\]\(docs\/console\/([\w-]+\.png)\)/g),
      ([, , name]) => name!
    )
    assert.deepStrictEqual(pictures.toSorted(), readdirSync(join(root, "docs/console")).toSorted())
  })
})
