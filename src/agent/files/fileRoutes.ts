/**
 * The agent's file routes. Refusals are 409 `{code, message, details}` with the contract's code.
 *
 *     POST /v1/files/stat       {path} -> 200 FileStat
 *     POST /v1/files/read       {path, offset, maxBytes, version} -> 200, headers atoll-next-offset, atoll-size, atoll-version; the bytes
 *     POST /v1/files/write      header atoll-path (base64url of UTF-8); framed bytes -> 200 {}
 *     POST /v1/files/edit       {path, expectedSha256, oldText, newText, replaceAll} -> 200 {sizeBytes, sha256, replacements}
 *     POST /v1/files/list       {path, pageSize, after} -> 200 {entries, next}
 *     POST /v1/files/directory  {path, recursive} -> 200 {}
 *     POST /v1/files/rename     {path, destination, overwrite} -> 200 {}
 *     POST /v1/files/remove     {path, recursive} -> 200 {}
 *     POST /v1/files/unpack     headers atoll-path and atoll-encoding (`identity`, `gzip`); framed bytes -> 200 {entries, bytes}
 *     POST /v1/files/pack       {path, encoding} -> 200, framed bytes
 *
 * Paths are sent in bodies and one header, never in a query: 4096 characters may be 16 KiB.
 */
import fs from "node:fs"
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2"
import { promisify } from "node:util"
import { Semaphore } from "../../platform/concurrency/Semaphore.ts"
import { answerJson, type Handler, isWanted, Refusal, type Routes, readJson, readWanted } from "../routes.ts"
import { type Encoding, gunzipped, gzipped } from "./archive/gzip.ts"
import { openToPack, pack } from "./archive/pack.ts"
import { unpack } from "./archive/unpack.ts"
import { makeDirectory } from "./directory.ts"
import { Editor } from "./edit.ts"
import { FileRefusal, faultFor, hostFull, isFault } from "./FileRefusal.ts"
import { drained, framedContent, sendFramed } from "./framedContent.ts"
import { Listings } from "./Listings.ts"
import { archivesAtATime } from "./limits.ts"
import { openRange, type RangeToRead } from "./read.ts"
import { removePath } from "./remove.ts"
import { renamePath } from "./rename.ts"
import { Staging } from "./Staging.ts"
import { statPath } from "./stat.ts"
import { type Owner, Workspace } from "./Workspace.ts"
import { writePath } from "./write.ts"

const readFrom = promisify(fs.read)

export interface FileRoutesOptions {
  /** /workspace as the agent sees it. */
  readonly workspace: string
  /** The owner of the files that the agent makes; null: the agent's own user. */
  readonly owner: Owner | null
  /** Flushes the file system of a directory to the disk. */
  readonly flush: (directory: string) => Promise<void>
  /** True when the volume has its own size; false when it is part of the host's disk, and full when that is full. */
  readonly hasOwnVolume: boolean
}

interface Files {
  readonly workspace: Workspace
  readonly staging: Staging
  readonly editor: Editor
  readonly listings: Listings
  readonly archives: Semaphore
}

export const makeFileRoutes = (options: FileRoutesOptions): Routes => {
  const refusing = refusingBy(options)
  // Opened at the first call: a machine made from a template gets its volume after the agent has started.
  let opened: Promise<Files> | null = null
  const files = (): Promise<Files> => {
    opened ??= openFiles(options).catch((cause) => {
      opened = null
      throw cause
    })
    return opened
  }
  const json =
    (answer: (files: Files, body: Record<string, unknown>) => unknown): Handler =>
    (stream) =>
      refusing(async () => answerJson(stream, 200, (await answer(await files(), await readJson(stream))) ?? {}))

  const changing =
    (answer: (files: Files, body: Record<string, unknown>) => unknown): Handler =>
    (stream) =>
      refusing(async () => {
        const body = await readWanted(stream)
        if (body !== null) answerJson(stream, 200, (await answer(await files(), body)) ?? {})
      })

  return {
    "POST /v1/files/stat": json(({ workspace }, body) => statPath(workspace, text(body, "path"))),
    "POST /v1/files/read": (stream) =>
      refusing(async () => {
        const body = await readJson(stream)
        const { workspace } = await files()
        const range = await openRange(workspace, text(body, "path"), {
          offset: count(body, "offset"),
          maxBytes: count(body, "maxBytes"),
          version: body["version"] === null ? null : text(body, "version")
        })
        await sendRange(stream, range)
      }),
    "POST /v1/files/write": (stream, headers) =>
      refusing(async () => {
        const { workspace, staging } = await files()
        await writePath(workspace, staging, pathIn(headers), framedContent(stream), () => isWanted(stream))
        answerJson(stream, 200, {})
      }),
    "POST /v1/files/edit": changing(({ editor }, body) =>
      editor.edit(text(body, "path"), {
        expectedSha256: text(body, "expectedSha256"),
        oldText: text(body, "oldText"),
        newText: text(body, "newText"),
        replaceAll: flag(body, "replaceAll")
      })
    ),
    "POST /v1/files/list": json(({ listings }, body) => {
      const after = body["after"]
      return listings.list(text(body, "path"), {
        pageSize: count(body, "pageSize"),
        after: isObject(after) ? { version: text(after, "version"), position: text(after, "position") } : null
      })
    }),
    "POST /v1/files/directory": changing(({ workspace }, body) =>
      makeDirectory(workspace, text(body, "path"), { recursive: flag(body, "recursive") })
    ),
    "POST /v1/files/rename": changing(({ workspace, staging }, body) =>
      renamePath(workspace, staging, text(body, "path"), text(body, "destination"), {
        overwrite: flag(body, "overwrite")
      })
    ),
    "POST /v1/files/remove": changing(({ workspace }, body) =>
      removePath(workspace, text(body, "path"), { recursive: flag(body, "recursive") })
    ),
    "POST /v1/files/unpack": (stream, headers) =>
      refusing(async () => {
        const path = pathIn(headers)
        const encoding = encodingIn(headers["atoll-encoding"])
        const { workspace, staging, archives } = await files()
        using _ = await archives.acquire()
        const content = framedContent(stream)
        const unpacked = await unpack(workspace, staging, path, encoding === "gzip" ? gunzipped(content) : content)
        await options.flush(options.workspace)
        answerJson(stream, 200, unpacked)
      }),
    "POST /v1/files/pack": (stream) =>
      refusing(async () => {
        const body = await readJson(stream)
        const path = text(body, "path")
        const encoding = encodingIn(body["encoding"])
        const { workspace, archives } = await files()
        using _ = await archives.acquire()
        const archive = pack(workspace, openToPack(workspace, path))
        await sendFramed(stream, encoding === "gzip" ? gzipped(archive) : archive, () => archives.isAwaited)
      })
  }
}

const openFiles = async (options: FileRoutesOptions): Promise<Files> => {
  const workspace = new Workspace(options.workspace, options.owner)
  const staging = new Staging(workspace)
  await staging.sweep()
  return {
    workspace,
    staging,
    editor: new Editor(workspace, staging),
    listings: new Listings(workspace),
    archives: new Semaphore(archivesAtATime)
  }
}

/** Where the volume is part of the host's disk, the host's disk is full. The progress of an archive is still reported. */
const ofSharedVolume = (refusal: FileRefusal): FileRefusal => {
  if (refusal.code === "STORAGE_FULL") return hostFull()
  return refusal.code === "ARCHIVE_INCOMPLETE" && refusal.details?.["reason"] === "storage_full"
    ? new FileRefusal(refusal.code, hostFull().message, refusal.details)
    : refusal
}

const refused = (cause: unknown, { hasOwnVolume }: FileRoutesOptions): unknown => {
  const known = cause instanceof FileRefusal ? cause : faultFor(cause)
  if (known === null) return cause
  const refusal = hasOwnVolume ? known : ofSharedVolume(known)
  return new Refusal(isFault(refusal) ? 503 : 409, refusal.code, refusal.message, refusal.details)
}

const refusingBy =
  (options: FileRoutesOptions) =>
  async (act: () => Promise<void>): Promise<void> => {
    try {
      await act()
    } catch (cause) {
      throw refused(cause, options)
    }
  }

/** Bytes per read. Node's own `respondWithFD` reads smaller pieces and takes three times the CPU, here and in the service. */
const readBytes = 256 * 1024

const sendRange = async (stream: ServerHttp2Stream, range: RangeToRead): Promise<void> => {
  using file = range.file
  if (stream.destroyed || stream.closed) return
  stream.respond({
    ":status": 200,
    "content-type": "application/octet-stream",
    "atoll-next-offset": String(range.nextOffset),
    "atoll-size": String(range.sizeBytes),
    "atoll-version": range.version
  })
  for (let at = range.offset; at < range.nextOffset; ) {
    const bytes = Buffer.allocUnsafeSlow(Math.min(readBytes, range.nextOffset - at))
    const { bytesRead } = await readFrom(file.descriptor, bytes, 0, bytes.byteLength, at)
    // Truncated while it is being read: the client counts the bytes and notices.
    if (bytesRead === 0 || stream.destroyed) break
    at += bytesRead
    if (!stream.write(bytes.subarray(0, bytesRead))) await drained(stream)
  }
  stream.end()
}

const invalid = (key: string) => new Refusal(400, "INVALID_REQUEST", `${key} is not valid`)

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

const text = (body: Record<string, unknown>, key: string): string => {
  const value = body[key]
  if (typeof value !== "string") throw invalid(key)
  return value
}

const count = (body: Record<string, unknown>, key: string): number => {
  const value = body[key]
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw invalid(key)
  return value
}

const flag = (body: Record<string, unknown>, key: string): boolean => {
  const value = body[key]
  if (typeof value !== "boolean") throw invalid(key)
  return value
}

const pathIn = (headers: IncomingHttpHeaders): string => {
  const header = headers["atoll-path"]
  if (typeof header !== "string") throw invalid("atoll-path")
  return Buffer.from(header, "base64url").toString("utf8")
}

const encodingIn = (value: unknown): Encoding => {
  if (value !== "identity" && value !== "gzip") throw invalid("encoding")
  return value
}
