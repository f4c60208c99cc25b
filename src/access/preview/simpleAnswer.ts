/**
 * Reads the head of a plain answer: complete in one read, with a body of known length or none.
 *
 * It must understand less than node:http and never something else, so it knows one strict form. Everything that is not of this form (chunks, hints, other
 * versions, repeated or odd framing) is null and goes to the parser of node:http.
 *
 * @source RFC 9112 sections 4, 5 and 6.3
 */
type Known = "connection" | "content-length" | "referrer-policy"

export interface SimpleAnswer {
  readonly statusCode: number
  readonly statusMessage: string
  /** Name, value, name, value … */
  readonly rawHeaders: ReadonlyArray<string>
  /** Those that the gateway asks for. */
  readonly headers: { readonly [Name in Known]?: string }
  /** Null: the head names no length. */
  readonly length: string | null
  readonly bodyBytes: number
  /** The program keeps the connection open. */
  readonly staysOpen: boolean
  /** Where the body begins. */
  readonly headBytes: number
}

/** As node:http has it. */
const headMaxBytes = 16 * 1024
const headersMax = 100
const endOfHead = Buffer.from("\r\n\r\n")

/** Not 1xx: these are no answers yet. */
const statusLine = /^HTTP\/1\.1 ([2-5]\d\d) ([\t\x20-\x7e\x80-\xff]*)$/
const headerLine =
  /^([!#$%&'*+.^_`|~\w-]+):[ \t]*((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)[ \t]*$/
/** They frame a body in another way than by its length, or change the protocol. */
const unknownHere = new Set(["transfer-encoding", "trailer", "upgrade"])

/** @param isHead The answer is one to HEAD. */
export const simpleAnswerIn = (bytes: Buffer, isHead: boolean): SimpleAnswer | null => {
  const end = bytes.indexOf(endOfHead)
  if (end < 0 || end > headMaxBytes) return null
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n")
  const [, status, statusMessage] = statusLine.exec(first) ?? []
  if (status === undefined || lines.length > headersMax) return null
  const rawHeaders: Array<string> = []
  const headers: { [Name in Known]?: string } = {}
  for (const line of lines) {
    const [, spelled, value] = headerLine.exec(line) ?? []
    if (spelled === undefined || value === undefined) return null
    const name = spelled.toLowerCase()
    if (unknownHere.has(name)) return null
    if (name === "connection" || name === "content-length" || name === "referrer-policy") {
      if (headers[name] !== undefined) return null
      headers[name] = value
    }
    rawHeaders.push(spelled, value)
  }
  const { connection = "keep-alive", "content-length": length = null } = headers
  const staysOpen = /^keep-alive$/i.test(connection)
  if (!staysOpen && !/^close$/i.test(connection)) return null
  if (length !== null && !/^\d{1,15}$/.test(length)) return null
  const statusCode = Number(status)
  const hasNoBody = isHead || statusCode === 204 || statusCode === 304
  // The end of the connection is the end of the body.
  if (length === null && !hasNoBody) return null
  const bodyBytes = hasNoBody ? 0 : Number(length)
  return {
    statusCode,
    statusMessage: statusMessage!,
    rawHeaders,
    headers,
    length,
    bodyBytes,
    staysOpen,
    headBytes: end + endOfHead.length
  }
}
