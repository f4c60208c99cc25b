/** A tar archive of one file, made as it is sent. */
import { iterable } from "../content.ts"
import { blockBytes, entryTypes, paddingOf, writeHeader } from "../generated/tar/tarHeader.ts"
import { streamOf } from "../http/streamOf.ts"
import { bytesOfName } from "./names.ts"

export interface ArchivedFile {
  /** Without its directory. */
  readonly name: string
  readonly size: number
  /** Permissions. */
  readonly mode: number
  /** Seconds since 1970. */
  readonly mtime: number
}

const headerOf = ({ name, mtime, ...file }: ArchivedFile) =>
  writeHeader({
    ...file,
    name: bytesOfName(name),
    mtime: Math.floor(mtime),
    target: new Uint8Array(),
    type: entryTypes.file
  })

/** Behind the content, and two blocks of nothing that end the archive. */
const endOf = ({ size }: ArchivedFile) => new Uint8Array(paddingOf(size) + 2 * blockBytes)

/** A stream was told to have another size than it has; the file is as it was. */
export class WrongSize extends RangeError {
  /** `came` null: more. */
  constructor(told: number, came: number | null) {
    super(`The content should have ${told} bytes, and has ${came ?? "more"}. The file is as it was.`)
  }
}

export interface StreamedArchive {
  readonly body: ReadableStream<Uint8Array>
  /** Why the content came to no end of its own; null while nothing is wrong with it. */
  readonly fault: () => { readonly thrown: unknown } | null
}

/** Fails where the content fails, or has another size than it should. */
export const archiveOfStream = (file: ArchivedFile, content: AsyncIterable<Uint8Array>): StreamedArchive => {
  let fault: { readonly thrown: unknown } | null = null
  const source = content[Symbol.asyncIterator]()
  const archive = async function* () {
    yield headerOf(file)
    let length = 0
    try {
      for (let next = await source.next(); next.done !== true; next = await source.next()) {
        length += next.value.length
        if (length > file.size) throw new WrongSize(file.size, null)
        if (next.value.length > 0) yield next.value
      }
      if (length < file.size) throw new WrongSize(file.size, length)
    } catch (thrown) {
      fault = { thrown }
      throw thrown
    }
    yield endOf(file)
  }
  return { body: streamOf(archive(), () => source.return?.()), fault: () => fault }
}

/** One that can be sent again. */
export const archiveOfBlob = (file: ArchivedFile, content: Blob): Blob | (() => ReadableStream<Uint8Array>) => {
  const [header, end] = [headerOf(file), endOf(file)]
  const archive = new Blob([header, content, end])
  // Bun (1.4) leaves out of a Blob what lies in a file.
  if (archive.size === header.length + content.size + end.length) return archive
  return () => archiveOfStream(file, iterable(content.stream())).body
}
