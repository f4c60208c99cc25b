/** Tools that read and change files under /workspace. */
import { createHash } from "node:crypto"
import { posix } from "node:path"
import { Readable } from "node:stream"
import { Effect, Schema } from "effect"
import {
  type ContractError,
  InvalidRequest,
  type PreconditionFailed,
  RuntimeUnavailable
} from "../../../schemas/Errors.ts"
import { EditFileRequest, EditFileResponse, FileList } from "../../../schemas/Files.ts"
import { SandboxId } from "../../../schemas/Identifiers.ts"
import { fileContentMaxBytes, filePageMax, offsetMax } from "../../../schemas/Limits.ts"
import { Cursor } from "../../../schemas/Query.ts"
import { isWellFormedText } from "../../../schemas/Text.ts"
import { type FileAddress, Files } from "../../files/Files.ts"
import { openCharacter } from "../../operation/OutputSplit.ts"
import { exactText, headOfNone } from "./guestText.ts"
import { defineTool, type Tool, type ToolCaller } from "./Tool.ts"
import { filePath, workspace } from "./toolPath.ts"

const readDefaultBytes = 64 * 1024
const readMaxBytes = 1024 * 1024
const listedDefault = 200
/** How often an edit without expectedSha256 is retried if the file changes concurrently. */
const editTries = 5
const noSha256 = "0".repeat(64)

const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const encoding = Schema.Literals(["utf8", "base64"])

const at = ({ accountId, exhaustedAt }: ToolCaller, { sandboxId, path }: { sandboxId: string; path: string }) =>
  ({ accountId, exhaustedAt, sandboxId, path }) satisfies FileAddress

const cut = () =>
  new RuntimeUnavailable({
    message: "The file could not be read to its end: it was truncated meanwhile, or its Sandbox ended. Read it again."
  })

const bytesOf = (body: Readable): Effect.Effect<Buffer, RuntimeUnavailable> =>
  Effect.tryPromise({ try: async () => Buffer.concat(await body.toArray()), catch: cut })

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const contentOf = (given: { readonly content: string; readonly encoding?: "utf8" | "base64" }) => {
  if (given.encoding !== "base64") return Effect.succeed(Buffer.from(given.content))
  return base64Pattern.test(given.content)
    ? Effect.succeed(Buffer.from(given.content, "base64"))
    : Effect.fail(new InvalidRequest({ details: { issues: [{ path: ["content"], message: "Expected base64" }] } }))
}

const sha256 = (description: string) => Schema.String.annotate({ description })

const { expectedSha256, ...editFields } = EditFileRequest.fields

const put = (files: Files["Service"], address: FileAddress, content: Buffer) =>
  files.write(address, { bytes: Readable.from([content]), broken: cut })

/** Creates the parent directory if it is missing. */
const write = (files: Files["Service"], address: FileAddress, content: Buffer): Effect.Effect<void, ContractError> =>
  Effect.catchTag(put(files, address, content), "NOT_FOUND", (missing) => {
    const folder = posix.dirname(address.path)
    return folder === "/" || folder === address.path
      ? Effect.fail(missing)
      : files
          .createDirectory({ ...address, path: folder }, { recursive: true })
          .pipe(Effect.uninterruptible, Effect.andThen(put(files, address, content)))
  })

const edit = (
  files: Files["Service"],
  address: FileAddress,
  request: EditFileRequest,
  triesLeft: number
): Effect.Effect<EditFileResponse, ContractError> => {
  const again = (changed: PreconditionFailed) =>
    triesLeft === 0
      ? Effect.fail(changed)
      : edit(files, address, { ...request, expectedSha256: changed.details.actualSha256 }, triesLeft - 1)
  return Effect.catchTag(files.edit(address, request), "PRECONDITION_FAILED", again)
}

const readTool = (files: Files["Service"]): Tool =>
  defineTool({
    name: "read_file",
    title: "Read a file",
    description:
      "Reads a file, or a piece of it. UTF-8 text is returned as it is, other bytes in base64 (see encoding). nextOffset and eof say whether there is more.",
    action: "readFile",
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: Schema.Struct({
      sandboxId: SandboxId,
      path: filePath("The file."),
      offset: Schema.optionalKey(
        Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: offsetMax })).annotate({
          description: "First byte. By default 0."
        })
      ),
      maxBytes: Schema.optionalKey(
        Schema.Int.check(Schema.isBetween({ minimum: 4, maximum: readMaxBytes })).annotate({
          description: `Maximum bytes of the answer. By default ${readDefaultBytes}.`
        })
      )
    }),
    output: Schema.Struct({
      path: Schema.String,
      content: Schema.String,
      encoding: encoding.annotate({
        description: "The encoding of content. base64: these bytes are not UTF-8 text."
      }),
      offset: Schema.Int.annotate({ description: "The offset of the first byte of content." }),
      nextOffset: Schema.Int.annotate({ description: "Pass it as offset to continue." }),
      sizeBytes: Schema.Int.annotate({ description: "The size of the whole file." }),
      eof: Schema.Boolean.annotate({ description: "The end of the file was reached." }),
      sha256: Schema.NullOr(Schema.String).annotate({
        description: "The SHA-256 of the file, for edit_file; null if content is only a piece of it."
      })
    }),
    call: (given, caller) =>
      Effect.gen(function* () {
        const range = yield* files.read(at(caller, given), {
          offset: given.offset ?? 0,
          maxBytes: given.maxBytes ?? readDefaultBytes,
          cursor: null
        })
        const bytes = yield* bytesOf(range.body)
        const head = range.offset > 0 ? headOfNone(bytes) : 0
        const end = bytes.length - (range.eof ? 0 : openCharacter(bytes))
        const text = exactText(bytes.subarray(head, end))
        const isWhole = range.offset === 0 && range.eof
        return {
          path: given.path,
          content: text ?? bytes.toString("base64"),
          encoding: text === null ? ("base64" as const) : ("utf8" as const),
          offset: range.offset + (text === null ? 0 : head),
          nextOffset: text === null ? range.nextOffset : range.offset + end,
          sizeBytes: range.sizeBytes,
          eof: range.eof,
          sha256: isWhole ? sha256Of(bytes) : null
        }
      }).pipe(Effect.scoped)
  })

const writeTool = (files: Files["Service"]): Tool =>
  defineTool({
    name: "write_file",
    title: "Write a file",
    description: `Creates a file or replaces it completely and atomically: no reader sees a partial file. Missing directories are created. At most about 3 MB in one call (${fileContentMaxBytes} bytes by the HTTP API).`,
    action: "writeFile",
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    input: Schema.Struct({
      sandboxId: SandboxId,
      path: filePath("The file."),
      content: Schema.String.check(isWellFormedText).annotate({
        description: "The complete new content, in encoding."
      }),
      encoding: Schema.optionalKey(
        encoding.annotate({ description: "utf8: content is text. base64: for other bytes. By default utf8." })
      )
    }),
    output: Schema.Struct({
      path: Schema.String,
      sizeBytes: Schema.Int,
      sha256: sha256("The SHA-256 of the written file: the expectedSha256 of the next edit_file.")
    }),
    call: Effect.fnUntraced(function* (given, caller: ToolCaller) {
      const content = yield* contentOf(given)
      yield* write(files, at(caller, given), content)
      return { path: given.path, sizeBytes: content.byteLength, sha256: sha256Of(content) }
    })
  })

const editTool = (files: Files["Service"]): Tool =>
  defineTool({
    name: "edit_file",
    title: "Edit a file",
    description:
      "Replaces text in a UTF-8 file atomically. oldText must occur exactly once, or replaceAll be true. With expectedSha256 a file that has changed meanwhile is left as it is.",
    action: "editFile",
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    input: Schema.Struct({
      sandboxId: SandboxId,
      path: filePath("The file."),
      ...editFields,
      expectedSha256: Schema.optionalKey(
        expectedSha256.annotate({
          description:
            "The latest sha256 from read_file, write_file or edit_file: if the file has changed since, nothing is done. By default any file that contains oldText is edited."
        })
      )
    }),
    output: EditFileResponse,
    call: ({ sandboxId, path, expectedSha256: expected, ...change }, caller) =>
      // A refused edit returns the version that it found.
      edit(
        files,
        at(caller, { sandboxId, path }),
        { ...change, expectedSha256: expected ?? noSha256 },
        expected === undefined ? editTries : 0
      )
  })

const listTool = (files: Files["Service"]): Tool =>
  defineTool({
    name: "list_files",
    title: "List a directory",
    description: "Lists a directory, in the file system's own order.",
    action: "listFiles",
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: Schema.Struct({
      sandboxId: SandboxId,
      path: Schema.optionalKey(filePath("The directory. By default /workspace.")),
      limit: Schema.optionalKey(
        Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: filePageMax })).annotate({
          description: `Maximum entries of the answer. By default ${listedDefault}.`
        })
      ),
      cursor: Schema.optionalKey(Cursor)
    }),
    output: FileList,
    call: ({ sandboxId, path, limit, cursor }, caller) =>
      files.list(at(caller, { sandboxId, path: path ?? workspace }), {
        pageSize: limit ?? listedDefault,
        cursor: cursor ?? null
      })
  })

export const fileTools = Effect.gen(function* () {
  const files = yield* Files
  return [readTool(files), writeTool(files), editTool(files), listTool(files)]
})
