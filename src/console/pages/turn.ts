/**
 * Whether this window may have its streams open. A browser has six connections to a host, for all of its windows together, and whoever asks for more
 * waits without an end: no page would load any more. So all windows that are seen tell each other what they want, and those that were used last have it.
 *
 * By BroadcastChannel: the page's policy lets no script make a SharedWorker, and locks are only for pages that came by TLS.
 *
 * @source RFC 9112 section 9.4 (concurrency); HTML Living Standard section 9.6 (broadcasting)
 */

/** What is left is for the pages themselves, and for what they ask. */
const streamsMax = 4
const sayEveryMs = 2000
/** A window that ended without a word. */
const forgetAfterMs = 9000

interface Said {
  readonly id: string
  /** Epoch milliseconds of its last use. */
  readonly usedAt: number
  /** Streams; none while nobody sees it. */
  readonly wants: number
  /** The others are to say the same. */
  readonly asks: boolean
}

const channel = new BroadcastChannel("atoll.streams")
const id = crypto.getRandomValues(new Uint32Array(2)).join(".")
const others = new Map<string, Said & { readonly heardAt: number }>()
const listeners = new Set<() => void>()
let usedAt = Date.now()
let wants = 0
let isOurs = true
let timer: ReturnType<typeof setInterval> | undefined

const look = () => {
  const now = performance.now()
  for (const [other, { heardAt }] of others) if (now - heardAt > forgetAfterMs) others.delete(other)
  const theirs = [...others.values()]
    .filter((other) => other.usedAt > usedAt || (other.usedAt === usedAt && other.id > id))
    .reduce((sum, other) => sum + other.wants, 0)
  const is = theirs === 0 || theirs + wants <= streamsMax
  if (is === isOurs) return
  isOurs = is
  for (const told of [...listeners]) told()
}

const say = (asks = false) => {
  channel.postMessage({ id, usedAt, wants: document.hidden ? 0 : wants, asks } satisfies Said)
  look()
}

const use = () => {
  usedAt = Date.now()
  if (wants > 0) say()
}

channel.addEventListener("message", ({ data }: MessageEvent<Said>) => {
  others.set(data.id, { ...data, heardAt: performance.now() })
  if (data.asks) say()
  else look()
})
addEventListener("focus", use)
addEventListener("pointerdown", () => {
  if (!isOurs) use()
})
document.addEventListener("visibilitychange", () => (document.hidden ? say() : use()))
addEventListener("pagehide", () => channel.postMessage({ id, usedAt, wants: 0, asks: false } satisfies Said))

/** One stream more. Call the result when it is over. */
export const want = (): (() => void) => {
  wants++
  timer ??= setInterval(() => say(), sayEveryMs)
  say(wants === 1)
  return () => {
    wants--
    say()
    if (wants > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

export const isTurn = (): boolean => isOurs

/** Calls back whenever that changes. Call the result to hear no more. */
export const onTurn = (told: () => void): (() => void) => {
  listeners.add(told)
  return () => void listeners.delete(told)
}
