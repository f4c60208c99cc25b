import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { OpenApi } from "effect/http-api"
import { assert, describe, it } from "vitest"
import { Api } from "../../schemas/Api.ts"
import { recipe } from "../../src/host/qemu/image/recipe.ts"
import { readme } from "./readme/shown.ts"

const root = join(import.meta.dirname, "../..")

/** `METHOD /path` of every call of the README's table, ids as `{}`; what it sends may come by a pipe. */
const shown = [...readme.matchAll(/`(?:tar c [^`|]*\\\| )?(?:curl|websocat) ([^`]*\$(?:U|\{U#http\})\/[^`]*)`/g)].map(
  ([, call]) => {
    const method = /-X ([A-Z]+)/.exec(call!)?.[1] ?? "GET"
    const path = /\$(?:U|\{U#http\})(\/[^\s"?]*)/.exec(call!)![1]!
    return `${method} /api/v2${path.replace(/\$[A-Z]+/g, "{}")}`
  }
)

const served = Object.entries(OpenApi.fromApi(Api).paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, "{}")}`)
)

/** The text below one heading. */
const section = (title: string): string => {
  const [, rest] = readme.split(`\n## ${title}\n`)
  assert.isDefined(rest, title)
  return rest!.split("\n## ")[0]!
}

/** All that the service can say: its sources. */
const said = ["src", "schemas", "machines", "scripts"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|mjs)$/.test(entry.name))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
  )
  .join("\n")

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

  it("explains no message and no code that nobody says", () => {
    const rows = [...section("When something does not work").matchAll(/^\| `([^`]+)`/gm)].map(([, words]) => words!)
    assert.isAbove(rows.length, 15)
    assert.deepStrictEqual(
      rows.filter((words) => !said.includes(words)),
      []
    )
  })

  it("names of a virtual machine's programs those whose packages are in its image", () => {
    const programs = /^\| such as \|[^\n]*\| ([^|]*) \|$/m.exec(section("Inside a Sandbox"))![1]!
    const packaged: Readonly<Record<string, string>> = {
      python3: "python3",
      pip: "python3-pip",
      venv: "python3-venv",
      xz: "xz-utils",
      vi: "vim-tiny",
      ping: "iputils-ping",
      nc: "netcat-openbsd",
      ssh: "openssh-client",
      scp: "openssh-client",
      sftp: "openssh-client"
    }
    // Node and npm are Atoll's own.
    const named = programs.split(/[ ,()]+/).filter((word) => word !== "" && !/^(Node|24|npm|npx)$/.test(word))
    const missing = named.filter((name) => !recipe.packages.some((it) => it === (packaged[name] ?? name)))
    assert.deepStrictEqual(missing, [])
    assert.isAbove(named.length, 20)
  })
})
