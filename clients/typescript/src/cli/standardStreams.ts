/** Output to stdout and stderr. A slow reader holds its writer back, and a reader that has gone ends the command. */
import { plainLines } from "./plainText.ts"

/** The reader of stdout has gone: no message follows. */
export class ReaderGone extends Error {
  override readonly name = "ReaderGone"
}

for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})

/** Resolves when the bytes are written: to the pipe, the file or the terminal. */
export const write = (stream: NodeJS.WriteStream, bytes: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.write(bytes, (fault) => {
      if (fault === null || fault === undefined) resolve()
      else reject((fault as NodeJS.ErrnoException).code === "EPIPE" ? new ReaderGone() : fault)
    })
  })

export const writeLine = (line: string): Promise<void> => write(process.stdout, `${line}\n`)

/** A message beside the answer. The command works without it. */
export const remark = (sentence: string): void => {
  process.stderr.write(`atoll: ${plainLines(sentence)}\n`)
}

/** As JSON.stringify writes it, with every character that a terminal would obey escaped. */
export const jsonOf = (document: unknown, indent?: number): string =>
  JSON.stringify(document, null, indent).replace(
    /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

/** @param document What `--json` prints: the shapes of the API. */
export const answer = (
  { isJson }: { readonly isJson: boolean },
  prose: string | (() => string),
  document: unknown
): Promise<void> => {
  if (isJson) return writeLine(jsonOf(document, 2))
  const text = typeof prose === "string" ? prose : prose()
  return text === "" ? Promise.resolve() : writeLine(plainLines(text))
}
