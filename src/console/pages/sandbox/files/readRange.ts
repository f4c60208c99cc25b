/** Reads the content of a file in ranges, all of one version. */
import { open } from "../../api.ts"
import { apiOf } from "./address.ts"

export interface Range {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly nextOffset: number
  readonly sizeBytes: number
  readonly eof: boolean
  /** Continues here, as long as the file is unchanged. */
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
      "The content is incomplete: the file changed while it was read, or the connection was lost. Try again."
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

/** Decodes pieces of text; a character that is cut at the end of a piece comes with the next. */
export interface TextReader {
  /** Null: this piece, and everything after it, is not text. */
  readonly next: (bytes: Uint8Array, isLast: boolean) => string | null
}

/** Text is UTF-8 without NUL; everything else is binary. */
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
