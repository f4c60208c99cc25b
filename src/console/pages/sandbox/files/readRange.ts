/** The content of a file as the API gives it: a range at a time, all of one version. */
import { open } from "../../api.ts"
import { apiOf } from "./address.ts"

export interface Range {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly nextOffset: number
  readonly sizeBytes: number
  readonly eof: boolean
  /** Goes on from here, as long as the file is the same. */
  readonly cursor: string
}

interface Wanted {
  readonly maxBytes: number
  /** Null: from the start. */
  readonly cursor: string | null
  readonly signal?: AbortSignal
}

export const readRange = async (
  sandboxId: string,
  path: string,
  { maxBytes, cursor, signal }: Wanted
): Promise<Range> => {
  const more = cursor === null ? { maxBytes } : { maxBytes, cursor }
  const answer = await open("GET", apiOf(sandboxId, "content", path, more), signal === undefined ? {} : { signal })
  const header = (name: string): string => answer.headers.get(`x-service-${name}`) ?? ""
  const content = await answer.arrayBuffer().catch((cause: unknown) => {
    if (signal?.aborted === true) throw cause
    throw new Error(
      "The content broke off: the file was changed while it was read, or the connection is lost. Try again."
    )
  })
  return {
    bytes: new Uint8Array(content),
    nextOffset: Number(header("next-offset")),
    sizeBytes: Number(header("file-size")),
    eof: header("eof") === "true",
    cursor: header("next-cursor")
  }
}

const strict = () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Reads bytes as text, in pieces; one that ends inside a character gives that character with the next. */
export interface TextReader {
  /** Null: it is no text, and nothing after it is. */
  readonly next: (bytes: Uint8Array, isLast: boolean) => string | null
}

/** Text is UTF-8 without NUL: everything else is bytes. */
export const textReader = (): TextReader => {
  const decoder = strict()
  return {
    next: (bytes, isLast) => {
      if (bytes.includes(0)) return null
      try {
        return decoder.decode(bytes, { stream: !isLast })
      } catch {
        return null
      }
    }
  }
}

export const textOf = (bytes: Uint8Array): string | null => textReader().next(bytes, true)
