/**
 * `npm run clients`: writes the generated layer of the client libraries from the OpenAPI description, and the library's copy of the tar codec. With
 * `--check`: fails if one is stale.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Api } from "../schemas/Api.ts"
import { openApiDocument } from "../schemas/OpenApiDocument.ts"
import { descriptionOf } from "./clients/Description.ts"
import { pythonFiles } from "./clients/python.ts"
import { tarFiles } from "./clients/tar.ts"
import { typescriptFiles } from "./clients/typescript.ts"

const folder = join(import.meta.dirname, "../clients")
const description = descriptionOf(openApiDocument(Api))
const written = {
  typescript: new Map([...typescriptFiles(description), ...tarFiles()]),
  python: pythonFiles(description, join(folder, "python"))
}
const files = new Map(
  Object.entries(written).flatMap(([client, contents]) =>
    [...contents].map(([name, content]) => [join(folder, client, name), content] as const)
  )
)
const stale = [...files].filter(([path, content]) => !existsSync(path) || readFileSync(path, "utf8") !== content)
// Nothing in these is written by hand.
const made = ["typescript/src/generated", "python/src/atoll/_sync"].map((name) => join(folder, name))
const superfluous = made.flatMap((at) =>
  readdirSync(at, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.endsWith("__pycache__"))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !files.has(path))
)

if (process.argv.includes("--check")) {
  if (stale.length + superfluous.length > 0) {
    console.error(`clients/ is not what its sources say: run npm run clients`)
    process.exitCode = 1
  }
} else {
  for (const [path, content] of stale) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
  for (const path of superfluous) rmSync(path)
}
