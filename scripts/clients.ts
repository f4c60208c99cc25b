/**
 * `npm run clients`: writes the generated layer of the client libraries from the OpenAPI description. With `--check`: fails if one is stale.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Api } from "../schemas/Api.ts"
import { openApiDocument } from "../schemas/OpenApiDocument.ts"
import { descriptionOf } from "./clients/Description.ts"
import { typescriptFiles } from "./clients/typescript.ts"

const folder = join(import.meta.dirname, "../clients")
const description = descriptionOf(openApiDocument(Api))
const files = new Map(
  [...typescriptFiles(description)].map(([name, content]) => [join(folder, "typescript", name), content])
)
const stale = [...files].filter(([path, content]) => !existsSync(path) || readFileSync(path, "utf8") !== content)

if (process.argv.includes("--check")) {
  if (stale.length > 0) {
    console.error(`clients/ is not what the description says: run npm run clients`)
    process.exitCode = 1
  }
} else {
  for (const [path, content] of stale) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
}
