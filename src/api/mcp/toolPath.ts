/** Paths in arguments of tools: models often write `src/main.ts`, as the libraries' users do. */
import { posix } from "node:path"
import { Schema, SchemaGetter } from "effect"
import { FilePath } from "../../../schemas/Files.ts"
import { WorkspacePath } from "../../../schemas/WorkspacePath.ts"

export const workspace = "/workspace"

/** `a.txt`, `./a.txt` and `a/` are below /workspace. An absolute path is not changed; the path's own check refuses one outside. */
const absolute = SchemaGetter.transform((path: string) =>
  path.startsWith("/") ? path : posix.resolve(workspace, path)
)
const same = SchemaGetter.transform((path: string) => path)

const given = (description: string) =>
  Schema.String.annotate({
    description: `${description} Below /workspace; a relative path begins there.`,
    examples: ["src/main.ts", "/workspace/src/main.ts"]
  })

/** @param description The meaning of the path. */
export const filePath = (description: string) =>
  given(description).pipe(Schema.decodeTo(FilePath, { decode: absolute, encode: same }))

export const directoryPath = (description: string) =>
  given(description).pipe(Schema.decodeTo(WorkspacePath, { decode: absolute, encode: same }))
