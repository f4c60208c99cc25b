/** Who asks: the keys and the sessions that answers gave, by the names of their requests; and what else later requests name. */
import type { Answer } from "./ClientConnection.ts"

type Headers = Readonly<Record<string, string>>

export class Credentials {
  readonly ids = new Map<string, string>()
  readonly #first: Headers
  readonly #headers = new Map<string, Headers>()

  /** @param key Of those who say nothing else. */
  constructor(key: string) {
    this.#first = bearer(key)
  }

  learn(name: string, answer: Answer): void {
    const { json, cookie } = answer
    const id = idIn(answer)
    if (id !== null) this.ids.set(name, id)
    for (const [index, child] of (json?.sandboxes ?? []).entries()) this.ids.set(`${name}Sandbox${index}`, child.id)
    if (typeof json?.kept?.id === "string") this.ids.set(`${name}Kept`, json.kept.id)
    const code = /#\w+=(.+)$/.exec(json?.link ?? "")?.[1]
    if (code !== undefined) this.ids.set(`${name}Code`, code)
    if (typeof json?.secret === "string") this.#headers.set(name, bearer(json.secret))
    const csrf = json?.session?.csrf
    if (cookie !== null && typeof csrf === "string") this.#headers.set(name, { cookie, "x-atoll-csrf": csrf })
  }

  /** Null: no answer gave any. */
  of(who: string | null | undefined): Headers | null {
    if (who === undefined) return this.#first
    return who === null ? {} : (this.#headers.get(who) ?? null)
  }

  filled(text: string): string {
    return text.replace(/\{(\w+)\}/g, (_, name: string) => this.ids.get(name) ?? `no-id-of-${name}`)
  }
}

const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` })

const idIn = ({ json }: Answer): string | null =>
  json?.sandbox?.id ??
  json?.snapshot?.id ??
  json?.image?.id ??
  json?.operation?.id ??
  json?.workspace?.id ??
  json?.preview?.id ??
  json?.key?.id ??
  json?.session?.id ??
  json?.processes?.[0]?.id ??
  json?.accounts?.[0]?.id ??
  // The newest.
  json?.keys?.at(-1)?.id ??
  json?.endpointId ??
  /\b[a-z]+_\w+/.exec(json?.said ?? "")?.[0] ??
  null
