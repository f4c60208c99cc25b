/**
 * The generated parts of `clients/python`: the description's shapes and operations, and the synchronous layer, which is
 * the asynchronous one without waiting.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Description } from "./Description.ts"
import { apiModule } from "./python/api.ts"
import { errorsModule } from "./python/errors.ts"
import { schemasModule } from "./python/schemas.ts"
import { Types } from "./python/types.ts"
import { unasync } from "./unasync.ts"

/** For asynchronous code only. */
const withoutSync = new Set(["opening.py"])

const synchronous = (name: string, source: string): string =>
  source.startsWith("# Made by")
    ? unasync(source)
    : `# Made by \`npm run clients\` from _async/${name}. Not to be edited.\n${unasync(source)}`

/** By their paths below `clients/python`, which is `folder`. */
export const pythonFiles = (description: Description, folder: string): ReadonlyMap<string, string> => {
  const types = new Types(description)
  const generated = new Map([
    ["src/atoll/schemas.py", schemasModule(description, types)],
    ["src/atoll/service_errors.py", errorsModule(description, types)],
    ["src/atoll/_async/api.py", apiModule(description, types)]
  ])
  const sources = join(folder, "src/atoll/_async")
  const written = readdirSync(sources).filter(
    (name) => name.endsWith(".py") && name !== "api.py" && !withoutSync.has(name)
  )
  return new Map([
    ...generated,
    ["src/atoll/_sync/api.py", unasync(generated.get("src/atoll/_async/api.py")!)],
    ...written.map(
      (name) => [`src/atoll/_sync/${name}`, synchronous(name, readFileSync(join(sources, name), "utf8"))] as const
    )
  ])
}
