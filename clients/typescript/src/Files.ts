/** The files of a Sandbox, below /workspace. Relative paths begin there. */
import { type ArchivedFile, archiveOfBlob, archiveOfStream, WrongSize } from "./archive/fileArchive.ts"
import { begun, type FileContent, iterable } from "./content.ts"
import type { DirectoryOptions, DirectoryTransfer, DownloadOptions } from "./DirectoryOptions.ts"
import { AtollError, UnreadableAnswer } from "./errors.ts"
import type { EditFileResponse, FileStat, FileStatResponse } from "./generated/schemas.ts"
import { paged } from "./http/paged.ts"
import { streamOf } from "./http/streamOf.ts"
import type { Content, Transport } from "./http/Transport.ts"
import { needNode } from "./socket/openSocket.ts"
import type { Waiting } from "./Waiting.ts"

const workspace = "/workspace"

const absolute = (path: string): string =>
  path.startsWith("/") ? path : path === "." || path === "" ? workspace : `${workspace}/${path}`

const hexOf = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("")

/** Whole, in one request. */
const writeMaxBytes = 8 * 1024 * 1024
const modeOfNewFile = 0o644

const divided = (path: string): readonly [directory: string, name: string] => {
  const at = path.lastIndexOf("/")
  return [path.slice(0, at) || "/", path.slice(at + 1)]
}

/** How often a read starts over because the file has changed. */
const changedTimesMax = 5

/** What engines hold in one piece; some hold less. */
const readMaxBytes = 4 * 1024 ** 3

/** One piece for the whole file: pieces that are put together at the end would need twice the memory. */
const roomFor = (path: string, sizeBytes: number): Uint8Array<ArrayBuffer> => {
  const tooLarge = (cause?: unknown) =>
    new RangeError(
      `${path} has ${sizeBytes} bytes, more than can be read in one piece. Read it by readStream or chunks.`,
      { cause }
    )
  if (sizeBytes > readMaxBytes) throw tooLarge()
  try {
    return new Uint8Array(sizeBytes)
  } catch (cause) {
    throw tooLarge(cause)
  }
}

interface FilePiece {
  readonly bytes: Uint8Array
  readonly sizeBytes: number
}

export interface ReadOptions extends Waiting {
  /** Absolute byte offset. By default 0. */
  readonly from?: number | undefined
}

export interface WriteOptions extends Waiting {
  /** Of a stream, in bytes. */
  readonly size?: number | undefined
}

export class Files {
  readonly #transport: Transport
  readonly #id: string

  constructor(transport: Transport, sandboxId: string) {
    this.#transport = transport
    this.#id = sandboxId
  }

  #at(path: string) {
    return { id: this.#id, path: absolute(path) }
  }

  /** Pieces of one content, each with the size of the whole file. */
  async *#pieces(path: string, { from, ...options }: ReadOptions): AsyncGenerator<FilePiece, void, undefined> {
    let cursor: string | undefined
    do {
      const offset = cursor === undefined ? from : undefined
      const { bytes, sizeBytes, next } = await this.#transport.read(
        "readFile",
        { parameters: { ...this.#at(path), offset, cursor }, ...options },
        async (answer) => ({
          bytes: new Uint8Array(await answer.arrayBuffer()),
          sizeBytes: Number(answer.headers.get("x-service-file-size")),
          next: answer.headers.get("x-service-eof") === "true" ? null : answer.headers.get("x-service-next-cursor")
        })
      )
      cursor = next ?? undefined
      if (bytes.length > 0) yield { bytes, sizeBytes }
    } while (cursor !== undefined)
  }

  /**
   * The bytes of a file in pieces of at most 8 MiB, `from` an offset or the beginning, all of one content: a file that changes meanwhile fails
   * with `CURSOR_STALE`. A piece whose connection is lost is asked for again.
   */
  async *chunks(path: string, options: ReadOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const { bytes } of this.#pieces(path, options)) yield bytes
  }

  /** The same as a stream, of which one piece at a time is in memory. Fails as `chunks` does. */
  readStream(path: string, options: ReadOptions = {}): ReadableStream<Uint8Array> {
    const ending = new AbortController()
    const signal = options.signal === undefined ? ending.signal : AbortSignal.any([options.signal, ending.signal])
    const chunks = this.chunks(path, { ...options, signal })
    return streamOf(chunks, (reason) => ending.abort(reason))
  }

  /**
   * A whole file of at most 4 GiB, in about as much memory. A larger one fails with a RangeError: `chunks` and `readStream` have no limit. One
   * that changes while it is read is read again from the start.
   */
  async readBytes(path: string, options: Waiting = {}): Promise<Uint8Array> {
    for (let attempt = 1; ; attempt++) {
      try {
        let all = new Uint8Array(0)
        let at = 0
        for await (const { bytes, sizeBytes } of this.#pieces(path, options)) {
          if (at === 0) all = roomFor(path, sizeBytes)
          if (at + bytes.length > all.length) throw new UnreadableAnswer("A file has more bytes than its size.")
          all.set(bytes, at)
          at += bytes.length
        }
        if (at < all.length) throw new UnreadableAnswer("A file has fewer bytes than its size.")
        return all
      } catch (thrown) {
        if (attempt < changedTimesMax && thrown instanceof AtollError && thrown.is("CURSOR_STALE")) continue
        throw thrown
      }
    }
  }

  /** A whole file as UTF-8 text; a byte that is none shows as U+FFFD. */
  async readText(path: string, options: Waiting = {}): Promise<string> {
    return new TextDecoder().decode(await this.readBytes(path, options))
  }

  /** The same as `readText`, by the name that other Sandbox libraries have. */
  read(path: string, options: Waiting = {}): Promise<string> {
    return this.readText(path, options)
  }

  /**
   * Creates or replaces a file of any size in one step: a reader sees the old or the new content. Its directory must
   * exist. For a stream of more than 8 MiB give its `size`; it is sent as it comes. A Blob has its own: `await
   * openAsBlob(path)` of node:fs.
   */
  async write(path: string, content: FileContent, { size, ...options }: WriteOptions = {}): Promise<void> {
    if (typeof content === "string") return this.#put(path, new Blob([content]), options)
    if (content instanceof Uint8Array) return this.#put(path, new Blob([content as Uint8Array<ArrayBuffer>]), options)
    if (content instanceof Blob) return this.#put(path, content, options)
    const found = await begun(iterable(content), writeMaxBytes)
    if ("whole" in found) {
      if (size !== undefined && size !== found.whole.size) throw new WrongSize(size, found.whole.size)
      return this.#put(path, found.whole, options)
    }
    if (size === undefined) {
      await found.all.return()
      throw new TypeError(`A stream of more than ${writeMaxBytes} bytes can be written where its size is given.`)
    }
    const archive = archiveOfStream(await this.#entry(path, size, options), found.all)
    try {
      await this.#unpack(path, archive.body, options)
    } catch (thrown) {
      throw archive.fault()?.thrown ?? thrown
    }
  }

  async #put(path: string, content: Blob, options: Waiting): Promise<void> {
    if (content.size > writeMaxBytes)
      return this.#unpack(path, archiveOfBlob(await this.#entry(path, content.size, options), content), options)
    const body = new Uint8Array(await content.arrayBuffer())
    await this.#transport.call("writeFile", { parameters: this.#at(path), body, ...options })
  }

  /** Like a write in one request: with the permissions of an existing file. */
  async #entry(path: string, size: number, options: Waiting): Promise<ArchivedFile> {
    const [directory, name] = divided(absolute(path))
    let mode = modeOfNewFile
    try {
      const found = await this.stat(path, options)
      if (found.type === "file") mode = Number.parseInt(found.mode, 8)
    } catch (thrown) {
      if (!(thrown instanceof AtollError) || !thrown.is("NOT_FOUND")) throw thrown
      // The archive would make the directory.
      await this.stat(directory, options)
    }
    return { name, size, mode, mtime: this.#transport.now() / 1000 }
  }

  async #unpack(path: string, body: Content, options: Waiting): Promise<void> {
    const [directory] = divided(absolute(path))
    const parameters = { id: this.#id, path: directory }
    await this.#transport.call("uploadArchive", { parameters, body, attemptSeconds: null, ...options })
  }

  /**
   * Copies a directory of this machine, with everything in it, into one of the Sandbox, which is made if it is missing;
   * other files there stay.
   * Each file is replaced whole. Needs Node, Deno or Bun. Entries that are neither file, directory nor link are
   * skipped.
   * If the service cannot go on, it fails with `ARCHIVE_INCOMPLETE`, whose details give the progress. After a
   * ConnectionError repeat it:
   * every file is the old or the new one.
   * @param localPath As bytes where a name in it is not UTF-8.
   */
  async uploadDirectory(
    localPath: string | Uint8Array,
    remotePath: string,
    options: DirectoryOptions = {}
  ): Promise<DirectoryTransfer> {
    needNode("Directories of a machine need")
    const { uploadDirectory } = await import("./node/uploadDirectory.ts")
    return uploadDirectory(this.#transport, this.#at(remotePath), localPath, options)
  }

  /**
   * Copies a directory of the Sandbox, with everything in it, into one of this machine, which is made if it is missing;
   * other files there stay.
   * Each file is replaced whole. Needs Node, Deno or Bun. Nothing that the Sandbox sends is written
   * outside of `localPath`. After a lost connection it starts over, like every read.
   * @param localPath As bytes where a name in it is not UTF-8.
   */
  async downloadDirectory(
    remotePath: string,
    localPath: string | Uint8Array,
    options: DownloadOptions = {}
  ): Promise<DirectoryTransfer> {
    needNode("Directories of a machine need")
    const { downloadDirectory } = await import("./node/downloadDirectory.ts")
    return downloadDirectory(this.#transport, this.#at(remotePath), localPath, options)
  }

  /**
   * Replaces text in a file with the expected content: `expectedSha256`, by default that of the present file. Fails
   * with `PRECONDITION_FAILED`, `TEXT_NOT_FOUND` or, unless `replaceAll`, `TEXT_AMBIGUOUS`.
   */
  async edit(
    path: string,
    edit: {
      readonly oldText: string
      readonly newText: string
      readonly replaceAll?: boolean | undefined
      readonly expectedSha256?: string | undefined
    },
    options: Waiting = {}
  ): Promise<EditFileResponse> {
    const { oldText, newText, replaceAll } = edit
    const expectedSha256 = edit.expectedSha256 ?? (await this.sha256(path, options))
    return this.#transport.call("editFile", {
      parameters: this.#at(path),
      body: { expectedSha256, oldText, newText, replaceAll },
      ...options
    })
  }

  /** Of the present file, in hexadecimal. */
  async sha256(path: string, options: Waiting = {}): Promise<string> {
    const bytes = await this.readBytes(path, options)
    return hexOf(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>))
  }

  /** The entries of a directory, in the file system's own order; requests the next page by itself. */
  async *list(path = workspace, options: Waiting = {}): AsyncGenerator<FileStat, void, undefined> {
    const pages = paged((cursor) =>
      this.#transport.call("listFiles", {
        parameters: { ...this.#at(path), cursor },
        ...options
      })
    )
    for await (const page of pages) yield* page.entries
  }

  /** Of the entry itself: a symbolic link is not followed. */
  async stat(path: string, options: Waiting = {}): Promise<FileStatResponse> {
    return this.#transport.call("statFile", { parameters: this.#at(path), ...options })
  }

  async exists(path: string, options: Waiting = {}): Promise<boolean> {
    try {
      await this.stat(path, options)
      return true
    } catch (thrown) {
      if (thrown instanceof AtollError && thrown.is("NOT_FOUND")) return false
      throw thrown
    }
  }

  /** `recursive`: makes missing parents, too, and succeeds for an existing directory. */
  async mkdir(
    path: string,
    { recursive, ...options }: Waiting & { readonly recursive?: boolean | undefined } = {}
  ): Promise<void> {
    await this.#transport.call("createDirectory", { parameters: this.#at(path), body: { recursive }, ...options })
  }

  /** Fails with `DESTINATION_EXISTS` unless `overwrite`. After a ConnectionError look at both paths. */
  async rename(
    path: string,
    destination: string,
    { overwrite, ...options }: Waiting & { readonly overwrite?: boolean | undefined } = {}
  ): Promise<void> {
    await this.#transport.call("renameFile", {
      parameters: this.#at(path),
      body: { destination: absolute(destination), overwrite },
      ...options
    })
  }

  /** `recursive`: a directory with everything in it. */
  async remove(
    path: string,
    { recursive, ...options }: Waiting & { readonly recursive?: boolean | undefined } = {}
  ): Promise<void> {
    await this.#transport.call("removeFile", { parameters: { ...this.#at(path), recursive }, ...options })
  }
}
