/**
 * `npm run clients`: writes the generated layer of the client libraries from the OpenAPI description. With `--check`: fails if one is stale.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Api } from "../schemas/Api.ts"
import { openApiDocument } from "../schemas/OpenApiDocument.ts"
import { descriptionOf } from "./clients/Description.ts"
import { pythonFiles } from "./clients/python.ts"
import { typescriptFiles } from "./clients/typescript.ts"

const folder = join(import.meta.dirname, "../clients")
const description = descriptionOf(openApiDocument(Api))
const written = {
  typescript: typescriptFiles(description),
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
  readdirSync(at)
    .map((name) => join(at, name))
    .filter((path) => !files.has(path) && !path.endsWith("__pycache__"))
)

if (process.argv.includes("--check")) {
  if (stale.length + superfluous.length > 0) {
    console.error(`clients/ is not what the description says: run npm run clients`)
    process.exitCode = 1
  }
} else {
  for (const [path, content] of stale) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
  for (const path of superfluous) rmSync(path)
}
