/**
 * Postgres's messages in a stream of bytes, and what a statement changes.
 * @source PostgreSQL "Frontend/Backend Protocol", "Message Formats"
 */

export interface Message {
  /** `startup` has no letter. */
  readonly type: string
  /** With the letter and the length. */
  readonly bytes: Buffer
}

export class MessageReader {
  #rest: Buffer = Buffer.alloc(0)
  #isStartup: boolean

  /** @param isOfClient Its first message has no letter. */
  constructor(isOfClient: boolean) {
    this.#isStartup = isOfClient
  }

  /** Those that are complete now. */
  push(chunk: Buffer): ReadonlyArray<Message> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const messages: Array<Message> = []
    while (true) {
      const lengthAt = this.#isStartup ? 0 : 1
      if (this.#rest.length < lengthAt + 4) return messages
      const size = lengthAt + this.#rest.readInt32BE(lengthAt)
      if (this.#rest.length < size) return messages
      const type = this.#isStartup ? "startup" : String.fromCharCode(this.#rest[0]!)
      messages.push({ type, bytes: this.#rest.subarray(0, size) })
      this.#rest = this.#rest.subarray(size)
      this.#isStartup = false
    }
  }
}

const textAt = (bytes: Buffer, at: number): { readonly text: string; readonly end: number } => {
  const end = bytes.indexOf(0, at)
  return { text: bytes.toString("utf8", at, end), end: end + 1 }
}

/** Of a Parse: the statement's name and text. */
export const parsedOf = ({ bytes }: Message) => {
  const name = textAt(bytes, 5)
  return { name: name.text, sql: textAt(bytes, name.end).text }
}

/** Of a Bind: the statement's name. */
export const boundOf = ({ bytes }: Message): string => textAt(bytes, textAt(bytes, 5).end).text

/** Of a simple query. */
export const queryOf = ({ bytes }: Message): string => textAt(bytes, 5).text

const change = /\binsert\s+into\s+"?(\w+)|\bdelete\s+from\s+"?(\w+)|\bupdate\s+"?(\w+)"?(?:\s+(?:as\s+)?\w+)?\s+set\b/gi

const events = /\\?"type\\?"\s*:\s*\\?"([A-Z][A-Z_]+)\\?"/g

/**
 * What a statement changes, for the name of an effect; null: nothing that anybody else could see.
 * @param bound The Bind of it, which has the events of the transitions that it logs.
 */
export const changeOf = (sql: string, bound: Buffer | null): string | null => {
  if (/^\s*commit\b/i.test(sql)) return "COMMIT"
  const parts = new Set<string>()
  for (const [, inserted, deleted, updated] of sql.matchAll(change)) {
    parts.add(
      inserted !== undefined ? `insert ${inserted}` : deleted !== undefined ? `delete ${deleted}` : `update ${updated}`
    )
  }
  if (parts.size === 0) return null
  if (bound !== null && sql.includes("transitions")) {
    const named = new Set([...bound.toString("latin1").matchAll(events)].map(([, event]) => event!))
    if (parts.has("update actors")) return `commit ${[...named].sort().join("+")}`.trim()
  }
  return [...parts].join("+")
}
