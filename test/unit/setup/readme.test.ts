import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { OpenApi } from "effect/http-api"
import { assert, describe, it } from "vitest"
import { Api } from "../../../schemas/Api.ts"
import { recipe } from "../../../src/host/qemu/image/recipe.ts"
import { pageOf, pages } from "../../support/setup/readme/pages.ts"

const root = join(import.meta.dirname, "../../..")

/** `METHOD /path` of every call of the tables of docs/api.md, ids as `{}`; a pipe may give the request's body. */
const shown = [
  ...pageOf("docs/api.md").text.matchAll(/`(?:tar c [^`|]*\\\| )?(?:curl|websocat) ([^`]*\$(?:U|\{U#http\})\/[^`]*)`/g)
].map(([, call]) => {
  const method = /-X ([A-Z]+)/.exec(call!)?.[1] ?? "GET"
  const path = /\$(?:U|\{U#http\})(\/[^\s"?]*)/.exec(call!)![1]!
  return `${method} /api/v2${path.replace(/\$[A-Z]+/g, "{}")}`
})

const served = Object.entries(OpenApi.fromApi(Api).paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, "{}")}`)
)

/** The anchors of a page's headings, as its renderers make them. */
const headingsOf = (text: string): ReadonlySet<string> =>
  new Set(
    Array.from(text.matchAll(/^#+ (.*)$/gm), ([, title]) =>
      title!
        .toLowerCase()
        .replace(/[^\w\s-]/g, "")
        .replaceAll(" ", "-")
    )
  )

/** Every page for readers of this repository, from its root. */
const documents = ["", "docs", "docs/architecture", "deploy", "clients/typescript", "clients/python"].flatMap(
  (folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => join(folder, name))
)

/** The sources: they contain every message of the service. */
const said = ["src", "schemas", "machines", "scripts"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|mjs)$/.test(entry.name))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
  )
  .join("\n")

describe("the documents", () => {
  it("show one call for each endpoint, and no other call", () => {
    assert.deepStrictEqual(shown.toSorted(), served.toSorted())
  })

  it("show each picture of the console once, with a description, and no other picture", () => {
    const pictures = Array.from(
      pages
        .map(({ text }) => text)
        .join("\n")
        .matchAll(/!\[([^\]]{8,})\]\((?:docs\/)?console\/([\w-]+\.png)\)/g),
      ([, , name]) => name!
    )
    assert.deepStrictEqual(pictures.toSorted(), readdirSync(join(root, "docs/console")).toSorted())
  })

  it("link only to files and headings that exist", () => {
    const broken = documents.flatMap((path) => {
      const text = readFileSync(join(root, path), "utf8")
      return Array.from(text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g), ([link, file, heading]) => {
        const target = file === "" ? path : join(dirname(path), file!)
        if (!existsSync(join(root, target))) return [`${path}: ${link}`]
        if (heading === undefined || !target.endsWith(".md")) return []
        return headingsOf(readFileSync(join(root, target), "utf8")).has(heading) ? [] : [`${path}: ${link}`]
      }).flat()
    })
    assert.isAbove(documents.length, 20)
    assert.deepStrictEqual(broken, [])
  })

  it("explain only messages and codes that the sources contain", () => {
    const rows = [...pageOf("docs/troubleshooting.md").text.matchAll(/^\| `([^`]+)`/gm)].map(([, words]) => words!)
    assert.isAbove(rows.length, 15)
    assert.deepStrictEqual(
      rows.filter((words) => !said.includes(words)),
      []
    )
  })

  it("name only programs of a virtual machine whose packages are in its image", () => {
    const programs = /^\| such as \|[^\n]*\| ([^|]*) \|$/m.exec(pageOf("docs/sandboxes.md").text)![1]!
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
