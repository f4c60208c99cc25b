/**
 * Reads manifests and blobs of one repository.
 *
 * @source OCI Distribution Specification 1.1; Docker Registry v2 "Token Authentication Specification"
 */
import { createHash } from "node:crypto"
import { Redacted } from "effect"
import { type ImageSource, RuntimeRefused, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { type ImageBlobs, MANIFEST_MAX_BYTES } from "./imageBlobs.ts"
import { manifestTypes } from "./imageManifest.ts"
import type { ImageReference } from "./imageReference.ts"
import { invalid, notFound, registryFailed, tooLarge, unauthorized } from "./imageRefusals.ts"
import { isAllowed } from "./registryAddress.ts"
import { bodyOf, type RegistryAnswer, type RequestOptions, registryRequest } from "./registryRequest.ts"

const TOKEN_MAX_BYTES = 1024 ** 2
/** Less than this in `stallMs` is no progress: a registry could otherwise keep the room of other pulls with a byte at a time. */
const PROGRESS_BYTES = 1024 ** 2

export const digestOf = (bytes: Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

interface Challenge {
  readonly scheme: string
  readonly parameters: Readonly<Record<string, string>>
}

const challengeOf = (header: string): Challenge | null => {
  const [, scheme, rest] = /^\s*(\w+)\s+(.*)$/.exec(header) ?? []
  if (scheme === undefined || rest === undefined) return null
  const parameters = Object.fromEntries([...rest.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]))
  return { scheme: scheme.toLowerCase(), parameters }
}

/**
 * Whether the token server of a registry gets its credentials: it is on the same host or below the same registered name, such as registry-1.docker.io
 * and auth.docker.io. Names of two letters and few before them (co.uk) need one more label.
 */
export const isOfRegistry = (realm: URL, registry: URL): boolean => {
  if (realm.protocol === "http:" && registry.protocol === "https:") return false
  if (realm.hostname === registry.hostname) return true
  const labels = registry.hostname.split(".")
  if (labels.length < 2 || labels.every((it) => /^\d+$/.test(it))) return false
  const [second = "", top = ""] = labels.slice(-2)
  const wanted = top.length === 2 && second.length <= 3 ? 3 : 2
  const owner = labels.slice(-wanted).join(".")
  return labels.length >= wanted && (realm.hostname === owner || realm.hostname.endsWith(`.${owner}`))
}

const WITHOUT_TLS = new Set(["EPROTO", "ECONNREFUSED", "ECONNRESET", "EPIPE"])

export class RegistryClient implements ImageBlobs {
  readonly #reference: ImageReference
  readonly #credentials: ImageSource["credentials"]
  readonly #options: RequestOptions
  #origin: Promise<URL> | null = null
  #authorization: string | null = null

  constructor(reference: ImageReference, credentials: ImageSource["credentials"], options: RequestOptions) {
    this.#reference = reference
    this.#credentials = credentials
    this.#options = options
  }

  /** The manifest or index with this tag or digest, its type and its digest. */
  async manifest(tagOrDigest: string): Promise<{ bytes: Buffer; type: string; digest: string }> {
    const answer = await this.#get(`manifests/${tagOrDigest}`, { accept: manifestTypes.join(", ") })
    const bytes = await this.#bodyOf(answer, MANIFEST_MAX_BYTES)
    if (bytes === null) throw tooLarge(MANIFEST_MAX_BYTES)
    const digest = digestOf(bytes)
    if (tagOrDigest.startsWith("sha256:") && tagOrDigest !== digest) throw invalid()
    return { bytes, type: answer.message.headers["content-type"]?.split(";")[0]?.trim() ?? "", digest }
  }

  /** The caller verifies the bytes. */
  async blob(digest: string): Promise<AsyncIterable<Buffer>> {
    const { message, url } = await this.#get(`blobs/${digest}`, {})
    return this.#piecesOf(message, url)
  }

  async *#piecesOf(message: AsyncIterable<Buffer>, url: URL): AsyncGenerator<Buffer, void, undefined> {
    const pieces = message[Symbol.asyncIterator]()
    const { stallMs } = this.#options
    let since = performance.now()
    let bytes = 0
    try {
      for (;;) {
        const { done, value } = await pieces.next().catch((cause: unknown) => {
          throw this.#faultOf(cause, url)
        })
        if (done === true) return
        yield value
        bytes += value.length
        if (performance.now() - since < stallMs) continue
        if (bytes < PROGRESS_BYTES) throw registryFailed(`${url.host} sent ${bytes} bytes in ${stallMs} ms`)
        since = performance.now()
        bytes = 0
      }
    } finally {
      await pieces.return?.()
    }
  }

  async #bodyOf(answer: RegistryAnswer, maxBytes: number): Promise<Buffer | null> {
    try {
      return await bodyOf(answer, maxBytes, this.#options)
    } catch (cause) {
      throw this.#faultOf(cause, answer.url)
    }
  }

  #faultOf(cause: unknown, { host }: URL): unknown {
    const isTold = cause instanceof RuntimeRefused || cause instanceof RuntimeUnavailable
    if (isTold || this.#options.signal.aborted) return cause
    return registryFailed(`${host}: ${cause instanceof Error ? cause.message : String(cause)}`)
  }

  async #ask(
    url: URL,
    headers: Readonly<Record<string, string>>,
    authorization: string | null
  ): Promise<RegistryAnswer> {
    try {
      return await registryRequest(url, headers, authorization, this.#options)
    } catch (cause) {
      throw this.#faultOf(cause, url)
    }
  }

  async #get(path: string, headers: Readonly<Record<string, string>>): Promise<RegistryAnswer> {
    this.#origin ??= this.#originOf()
    const origin = await this.#origin
    const url = new URL(`/v2/${this.#reference.repository}/${path}`, origin)
    let answer = await this.#ask(url, headers, this.#authorization)
    if (answer.status === 401 && answer.url.origin === origin.origin) {
      answer.message.destroy()
      this.#authorization = await this.#authorize(answer, origin)
      answer = await this.#ask(url, headers, this.#authorization)
    }
    if (answer.status === 200) return answer
    answer.message.destroy()
    if (answer.status === 401 || answer.status === 403) throw unauthorized()
    if (answer.status === 404) throw notFound()
    throw registryFailed(`${answer.url.host} answered ${answer.status}`)
  }

  /** A registry that may have no TLS is asked with TLS first. */
  async #originOf(): Promise<URL> {
    const secure = new URL(`https://${this.#reference.registry}`)
    const plain = new URL(`http://${this.#reference.registry}`)
    if (!isAllowed(this.#options.allowed, plain)) return secure
    try {
      const answer = await registryRequest(new URL("/v2/", secure), {}, null, this.#options)
      answer.message.destroy()
      return secure
    } catch (cause) {
      const { code = "" } = cause as NodeJS.ErrnoException
      // A server without TLS answers its first bytes with a refusal, and ends the connection before, while or after they are written.
      if (WITHOUT_TLS.has(code) || code.startsWith("ERR_SSL_")) return plain
      throw this.#faultOf(cause, secure)
    }
  }

  #basic(): string | null {
    if (this.#credentials === null) return null
    const { username, password } = this.#credentials
    return `Basic ${Buffer.from(`${username}:${Redacted.value(password)}`).toString("base64")}`
  }

  async #authorize({ message }: RegistryAnswer, origin: URL): Promise<string> {
    const challenge = challengeOf(String(message.headers["www-authenticate"] ?? ""))
    if (challenge?.scheme === "basic") {
      const basic = this.#basic()
      if (basic === null) throw unauthorized()
      return basic
    }
    const realm = URL.parse(challenge?.parameters["realm"] ?? "")
    if (challenge?.scheme !== "bearer" || realm === null) throw unauthorized()
    const { service } = challenge.parameters
    if (service !== undefined) realm.searchParams.set("service", service)
    realm.searchParams.set("scope", `repository:${this.#reference.repository}:pull`)
    const answer = await this.#ask(realm, {}, isOfRegistry(realm, origin) ? this.#basic() : null)
    if (answer.status !== 200) {
      answer.message.destroy()
      if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) throw unauthorized()
      throw registryFailed(`the token server ${realm.host} answered ${answer.status}`)
    }
    const body = await this.#bodyOf(answer, TOKEN_MAX_BYTES)
    const token = body === null ? null : tokenIn(body)
    if (token === null) throw registryFailed(`the token server ${realm.host} sent no token`)
    return `Bearer ${token}`
  }
}

const tokenIn = (body: Buffer): string | null => {
  try {
    const { token, access_token: accessToken } = JSON.parse(body.toString("utf8"))
    const found: unknown = token ?? accessToken
    return typeof found === "string" && /^[\x21-\x7e]+$/.test(found) ? found : null
  } catch {
    return null
  }
}
