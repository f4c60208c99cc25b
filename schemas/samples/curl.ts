/** An operation of the OpenAPI description as a curl command, made from the examples of the description. `ATOLL_URL` and `ATOLL_API_KEY` are set. */
type Json = Readonly<Record<string, unknown>>

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly example?: unknown
}

export interface SampledOperation {
  readonly operationId: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly security: ReadonlyArray<Json>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> } | undefined
  readonly responses: Readonly<Record<string, { readonly content?: Json }>>
}

export const curlStart = `export ATOLL_URL=http://127.0.0.1:8080
export ATOLL_API_KEY=…
`

/** In single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Bodies that are bytes, as files of the caller. */
const bodyFiles: Readonly<Record<string, string>> = {
  writeFile: "main.py",
  uploadArchive: "src.tar",
  importSnapshot: "before.atoll",
  uploadImage: "image.tar",
  buildImage: "src.tar"
}

/** Parameters that a reader of the sample wants, although the request works without them. */
const wanted: Readonly<Record<string, string>> = {
  createSandbox: "wait=running",
  startSandbox: "wait=running",
  endProcess: "graceSeconds=2",
  removeFile: "recursive=true"
}

const targetOf = (path: string, { operationId, parameters }: SampledOperation): string => {
  const required = parameters.filter((one) => one.required)
  const filled = required.reduce((whole, { name, example }) => whole.replace(`{${name}}`, String(example)), path)
  const query = required
    .filter((one) => one.in === "query")
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example)).replaceAll("%2F", "/")}`)
  const all = [...query, ...(wanted[operationId] === undefined ? [] : [wanted[operationId]])]
  return `"$ATOLL_URL${filled}${all.length === 0 ? "" : `?${all.join("&")}`}"`
}

/** A separate line for each field, where one line would be long. */
const json = (value: unknown): string => {
  const line = JSON.stringify(value)
  return line.length <= 80 ? line : JSON.stringify(value, null, 2).replaceAll("\n", "\n  ")
}

const isEmpty = (value: unknown): boolean => JSON.stringify(value) === "{}"

const bodyOf = ({ operationId, requestBody }: SampledOperation): ReadonlyArray<string> => {
  const [[mediaType, told] = []] = Object.entries(requestBody?.content ?? {})
  if (mediaType === undefined || isEmpty(told?.example)) return []
  const file = bodyFiles[operationId]
  const body = file === undefined ? quoted(json(told?.example)) : `@${file}`
  return [`-H "Content-Type: ${mediaType}"`, `${file === undefined ? "-d" : "--data-binary"} ${body}`]
}

/** A WebSocket: curl makes the handshake, and other programs are better for what follows. */
const handshake = [
  `-H "Connection: Upgrade" -H "Upgrade: websocket"`,
  `-H "Sec-WebSocket-Version: 13" -H "Sec-WebSocket-Key: $(openssl rand -base64 16)"`
]

const methodOption = (method: string, body: ReadonlyArray<string>): string =>
  method === "GET" || (method === "POST" && body.length > 0) ? "" : ` -X ${method}`

/** Calls whose key is a UUID that later calls name again. */
const namesGeneration = new Set(["createServiceAccess", "lookUpServiceAccess"])

export const curlSample = (method: string, path: string, operation: SampledOperation): string => {
  const { operationId, parameters, security, responses } = operation
  const isStream = Object.values(responses).some(({ content = {} }) => "text/event-stream" in content)
  const isSocket = "101" in responses
  const secret = security.some((one) => "capability" in one) ? "CAPABILITY" : "ATOLL_API_KEY"
  const key = parameters.find(({ required, name }) => required && name === "Idempotency-Key")
  const keyText = namesGeneration.has(operationId) ? String(key?.example) : "$(openssl rand -hex 16)"
  const body = bodyOf(operation)
  const options = [
    ...(security.length === 0 ? [] : [`-H "Authorization: Bearer $${secret}"`]),
    ...(key === undefined ? [] : [`-H "Idempotency-Key: ${keyText}"`]),
    ...(isSocket ? handshake : []),
    ...body,
    ...(operationId === "downloadArchive" ? ["-o src.tar"] : []),
    ...(operationId === "exportSnapshot" ? ["-o before.atoll"] : [])
  ]
  const first = `curl${isStream || isSocket ? " -N" : ""}${methodOption(method, body)} ${targetOf(path, operation)}`
  return [first, ...options.map((option) => `  ${option}`)].join(" \\\n")
}
