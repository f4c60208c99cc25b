/** Files under /workspace of a running Sandbox. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, OptionalBody, ReadsContent, RequiredScope } from "./Access.ts"
import {
  AlreadyExists,
  ArchiveIncomplete,
  CreditExhausted,
  CursorStale,
  DestinationExists,
  DirectoryNotEmpty,
  InvalidPath,
  InvalidRequest,
  IsADirectory,
  NotADirectory,
  NotFound,
  PayloadTooLarge,
  PreconditionFailed,
  RuntimeUnavailable,
  SandboxUnavailable,
  ServiceUnavailable,
  StorageFull,
  TextAmbiguous,
  TextNotFound,
  UnsupportedByRuntime,
  UnsupportedMediaType
} from "./Errors.ts"
import { SandboxId } from "./Identifiers.ts"
import { fileContentMaxBytes, filePageDefault, filePageMax, offsetMax, pathMaxCharacters } from "./Limits.ts"
import { withDefault } from "./Optional.ts"
import { boolean, Cursor, integer, integerWithDefault, NextCursor } from "./Query.ts"
import { isMatching, isWellFormedText, Timestamp } from "./Text.ts"

/** The published form of a file path. It is checked where it is used, so that every bad path is INVALID_PATH and not INVALID_REQUEST. */
export const FilePath = Schema.String.check(
  Schema.makeFilter<string>(() => true, {
    toJsonSchema: () => ({
      maxLength: pathMaxCharacters,
      pattern: "^/workspace(?:/(?!\\.{1,2}(?:/|$))[^/\\u0000]+)*$"
    })
  })
).annotate({
  identifier: "FilePath",
  description:
    "/workspace, or a path below it without empty, . or .. segments. A byte of a name that is not UTF-8 is written as the character U+10FE00 + byte, here and in answers.",
  examples: ["/workspace/src/main.ts"]
})

const fileFields = {
  name: Schema.String.annotate({ description: "The last segment; workspace for /workspace itself." }),
  type: Schema.Literals(["file", "directory", "symlink", "other"]).annotate({
    description: "Of the entry itself: a symbolic link is not followed. other: a fifo, socket or device."
  }),
  sizeBytes: Schema.Int.annotate({ description: "Of its content; what the file system says of a directory." }),
  mode: Schema.String.annotate({ description: "Permissions as four octal digits, such as 0644." }),
  modifiedAt: Timestamp.annotate({ description: "When its content last changed." })
}

export const FileStat = Schema.Struct(fileFields).annotate({
  identifier: "FileStat",
  description: "An entry of a directory."
})
export interface FileStat extends Schema.Schema.Type<typeof FileStat> {}

export const FileStatResponse = Schema.Struct({
  path: Schema.String.annotate({ description: "The path that was asked for." }),
  ...fileFields
}).annotate({
  identifier: "FileStatResponse",
  description: "One file, directory or link."
})
export interface FileStatResponse extends Schema.Schema.Type<typeof FileStatResponse> {}

export const FileList = Schema.Struct({
  path: Schema.String.annotate({ description: "The directory." }),
  entries: Schema.Array(FileStat).annotate({ description: "What is in it, without . and .." }),
  nextCursor: NextCursor
}).annotate({ identifier: "FileList", description: "One page, in the file system's own order." })
export interface FileList extends Schema.Schema.Type<typeof FileList> {}

export const EditFileRequest = Schema.Struct({
  expectedSha256: Schema.String.check(
    isMatching(/^[0-9a-f]{64}$/, { expected: "64 lowercase hexadecimal characters" })
  ).annotate({ description: "SHA-256 of the complete file as you last saw it." }),
  oldText: Schema.String.check(Schema.isMinLength(1), isWellFormedText).annotate({ description: "What is there now." }),
  newText: Schema.String.check(isWellFormedText).annotate({ description: "What is to be there instead." }),
  replaceAll: withDefault(
    Schema.Boolean,
    false,
    "False: oldText must occur exactly once. True: every occurrence is replaced; they do not overlap."
  )
}).annotate({
  identifier: "EditFileRequest",
  description: "A replacement of text in a file that is as the caller last saw it."
})
export interface EditFileRequest extends Schema.Schema.Type<typeof EditFileRequest> {}

export const EditFileResponse = Schema.Struct({
  path: Schema.String.annotate({ description: "The file." }),
  sizeBytes: Schema.Int.annotate({ description: "Its size now." }),
  sha256: Schema.String.annotate({ description: "SHA-256 of the file now: the expectedSha256 of a next edit." }),
  replacements: Schema.Int.annotate({ description: "How many occurrences were replaced." })
}).annotate({ identifier: "EditFileResponse", description: "The file after the edit." })
export interface EditFileResponse extends Schema.Schema.Type<typeof EditFileResponse> {}

export const RenameFileRequest = Schema.Struct({
  destination: FilePath,
  overwrite: withDefault(Schema.Boolean, false, "Atomically replaces a destination that exists; otherwise it is 409.")
}).annotate({ identifier: "RenameFileRequest", description: "Where to move it." })

export const CreateDirectoryRequest = Schema.Struct({
  recursive: withDefault(
    Schema.Boolean,
    false,
    "Makes missing parents too, and is content with a directory that is there already."
  )
}).annotate({ identifier: "CreateDirectoryRequest", description: "An absent body means {}." })

export const UnpackedArchive = Schema.Struct({
  path: Schema.String.annotate({ description: "The directory." }),
  entries: Schema.Int.annotate({ description: "How many files, directories and links are as in the archive now." }),
  bytes: Schema.Int.annotate({ description: "Content of the files among them." })
}).annotate({ identifier: "UnpackedArchive", description: "What was unpacked." })
export interface UnpackedArchive extends Schema.Schema.Type<typeof UnpackedArchive> {}

const count = (description: string) =>
  Schema.String.check(isMatching(/^\d+$/, { expected: "decimal digits" })).annotate({ description })

/** @source contract.md "Response headers of a successful file content read" */
const contentHeaders = {
  "accept-ranges": Schema.Literal("bytes").annotate({ description: "Offsets count bytes." }),
  "content-length": count("Bytes in this answer."),
  "x-service-offset": count("Offset of the first returned byte."),
  "x-service-next-offset": count("Offset to continue from."),
  "x-service-file-size": count("Size of the file."),
  "x-service-eof": Schema.Literals(["true", "false"]).annotate({
    description: "Whether the end of the file was reached."
  }),
  "x-service-next-cursor": Schema.String.annotate({
    description: "Pass it as cursor to continue at the next offset, provided that the file is unchanged."
  })
}

const archiveHeaders = {
  "content-encoding": Schema.optionalKey(
    Schema.Literal("gzip").annotate({ description: "Absent: the archive is not compressed." })
  ),
  vary: Schema.Literal("accept-encoding").annotate({ description: "What the answer depends on beside its URL." })
}

/** Of requests. The case of names in it does not matter. */
const ContentEncoding = Schema.String.check(
  isMatching(/^(?:gzip|x-gzip|identity)$/i, { expected: "gzip, or no Content-Encoding" })
).annotate({ description: "gzip where the archive is compressed so (a .tar.gz).", examples: ["gzip"] })

const params = { id: SandboxId }
const pathQuery = { path: FilePath }

/** The errors of every file call. */
const reached = [
  InvalidRequest,
  InvalidPath,
  NotFound,
  NotADirectory,
  PayloadTooLarge,
  UnsupportedByRuntime,
  SandboxUnavailable,
  RuntimeUnavailable,
  // The Sandbox's agent was not reached, and nothing was done; or its volume, its memory or its host's disk cannot do
  // it.
  ServiceUnavailable
] as const

/** The errors of every call that writes. */
const written = [...reached, CreditExhausted] as const

export const tarMediaType = "application/x-tar"

const tar = Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: tarMediaType }))
const octetStream = Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: "application/octet-stream" }))

/** An archive as it comes: plain, or compressed. */
export const archiveBody = { headers: { "content-encoding": Schema.optionalKey(ContentEncoding) }, payload: tar }

export class FilesGroup extends HttpApiGroup.make("files")
  .add(
    HttpApiEndpoint.get("statFile", "/sandboxes/:id/files/stat", {
      params,
      query: pathQuery,
      success: FileStatResponse,
      error: reached
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "statFile",
          summary: "Metadata of one path",
          description: "Of the entry itself: a symbolic link is not followed."
        })
      ),
    HttpApiEndpoint.get("readFile", "/sandboxes/:id/files/content", {
      params,
      query: {
        ...pathQuery,
        offset: Schema.optionalKey(
          integer(
            { minimum: 0, maximum: offsetMax },
            { default: 0, description: "First byte. Not needed with a cursor; one that disagrees with it is refused." }
          )
        ),
        maxBytes: integerWithDefault(
          { minimum: 1, maximum: fileContentMaxBytes },
          fileContentMaxBytes,
          "Most bytes of the answer."
        ),
        cursor: Schema.optionalKey(Cursor.annotate({ description: "The X-Service-Next-Cursor of the range before." }))
      },
      success: HttpApiSchema.WithHeaders(HttpApiSchema.StreamUint8Array(), contentHeaders),
      error: [...reached, CursorStale, IsADirectory]
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotate(ReadsContent, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "readFile",
          summary: "Read a range of a file",
          description:
            "Symbolic links are followed inside /workspace. Past the end the answer is empty, at the offset asked for. With a cursor, a file that changed since is 409 CURSOR_STALE. A connection that closes before Content-Length bytes have come means that the file was cut while it was read."
        })
      ),
    HttpApiEndpoint.put("writeFile", "/sandboxes/:id/files/content", {
      params,
      query: pathQuery,
      payload: octetStream,
      success: HttpApiSchema.NoContent,
      error: [...written, IsADirectory, StorageFull, UnsupportedMediaType]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "writeFile",
          summary: "Create or replace a file",
          description:
            "The file is replaced atomically: a reader sees the old or the new content. At most 8388608 bytes. The parent directory must exist. A new file has mode 0644, an existing one keeps its mode. A symbolic link is written through to its target inside /workspace."
        })
      ),
    HttpApiEndpoint.patch("editFile", "/sandboxes/:id/files/content", {
      params,
      query: pathQuery,
      payload: EditFileRequest,
      success: EditFileResponse,
      error: [
        ...written,
        IsADirectory,
        TextNotFound,
        TextAmbiguous,
        PreconditionFailed,
        StorageFull,
        UnsupportedMediaType
      ]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "editFile",
          summary: "Replace text in a file",
          description:
            "One atomic replacement of a UTF-8 file of at most 8388608 bytes that still is the one you saw; else 412 with details.actualSha256. Of concurrent editors exactly one wins. After a transport failure read the file again."
        })
      ),
    HttpApiEndpoint.get("listFiles", "/sandboxes/:id/files/list", {
      params,
      query: {
        ...pathQuery,
        pageSize: integerWithDefault(
          { minimum: 1, maximum: filePageMax },
          filePageDefault,
          "Most entries of one page."
        ),
        cursor: Schema.optionalKey(Cursor)
      },
      success: FileList,
      error: [...reached, CursorStale]
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listFiles",
          summary: "List a directory",
          description:
            "Entries come in the file system's own order. When an entry was made, removed or renamed since the cursor was issued: 409 CURSOR_STALE. Metadata is that of the moment its page is read. More than 1000000 entries: 413."
        })
      ),
    HttpApiEndpoint.post("createDirectory", "/sandboxes/:id/files/directory", {
      params,
      query: pathQuery,
      payload: CreateDirectoryRequest,
      success: HttpApiSchema.NoContent,
      error: [...written, AlreadyExists, StorageFull, UnsupportedMediaType]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotate(OptionalBody, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createDirectory",
          summary: "Create a directory",
          description: "Its parents must be there, and nothing of its name, unless recursive is true."
        })
      ),
    HttpApiEndpoint.post("renameFile", "/sandboxes/:id/files/rename", {
      params,
      query: pathQuery,
      payload: RenameFileRequest,
      success: HttpApiSchema.NoContent,
      error: [...written, DestinationExists, DirectoryNotEmpty, IsADirectory, StorageFull, UnsupportedMediaType]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "renameFile",
          summary: "Rename a file or directory",
          description:
            "Both parents must exist. A symbolic link is renamed itself. With overwrite an existing destination is replaced atomically, as POSIX rename does; a directory that is not empty never is. After a transport failure look at both paths."
        })
      ),
    HttpApiEndpoint.delete("removeFile", "/sandboxes/:id/files", {
      params,
      query: { ...pathQuery, recursive: boolean(false, "Removes a directory with everything in it.") },
      success: HttpApiSchema.NoContent,
      error: [...reached, DirectoryNotEmpty]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "removeFile",
          summary: "Remove a file or directory",
          description: "A symbolic link is removed itself. /workspace cannot be removed."
        })
      ),
    HttpApiEndpoint.post("uploadArchive", "/sandboxes/:id/files/archive", {
      params,
      query: pathQuery,
      ...archiveBody,
      success: UnpackedArchive,
      error: [...written, ArchiveIncomplete, StorageFull, UnsupportedMediaType]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "uploadArchive",
          summary: "Unpack a tar archive into a directory",
          description: [
            "Any tar archive (POSIX, GNU, V7), compressed by gzip where Content-Encoding says so, of any size. It is unpacked as it comes: `tar c -C src . | curl -T - -X POST -H 'Content-Type: application/x-tar' …`",
            "",
            "- The directory is made if it is missing, with its parents. What else is in it stays.",
            "- Each file and link is created atomically, and replaces a file or link of the same name; nothing is written through a link. Permissions, times of change, symbolic links (wherever they point) and hard links are kept; owners, set-user-ID bits and extended attributes are not. Files get to the disk before the answer.",
            "- Nothing leaves the directory: names that are absolute or have a .. in them are refused, and no entry goes through a symbolic link. Devices, fifos and sparse files are refused; at most 1000000 entries.",
            "- Where it cannot go on, it is 409 ARCHIVE_INCOMPLETE, with why and how far it came. After a transport failure, too, every file is the old or the new one: send the archive again, which does the same once more."
          ].join("\n")
        })
      ),
    HttpApiEndpoint.get("downloadArchive", "/sandboxes/:id/files/archive", {
      params,
      query: pathQuery,
      success: HttpApiSchema.WithHeaders(HttpApiSchema.StreamUint8Array({ contentType: tarMediaType }), archiveHeaders),
      error: reached
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotate(ReadsContent, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "downloadArchive",
          summary: "A directory as a tar archive",
          description: [
            "Of any size, made as it is read: `curl … | tar x -C copy`. Names are relative to the directory, which is not in it itself. Compressed by gzip for who accepts that (Accept-Encoding: gzip; `curl --compressed` unpacks it again).",
            "",
            "Permissions, times of change in seconds, symbolic and hard links are kept; everything belongs to 0:0. Fifos, sockets, devices, what lies on another mount, and what the Sandbox's user may not read are left out. Each file is as it was when its turn came; the directory may change meanwhile. A connection that closes before the end of the (chunked) body means that the archive is not whole: a file was cut while it was read, a directory in it has about a million entries or more (413 if it is the one that was asked for), or the Sandbox ended."
          ].join("\n")
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(
    OpenApi.annotations({ title: "Files", description: "Files under /workspace, as the Sandbox's own user sees them." })
  ) {}
