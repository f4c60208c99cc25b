/**
 * Decides whether this window may open streams. A browser has six connections to a host, for all of its windows together, and further requests
 * wait without end: no page would load any more. So visible windows tell each other how many streams they want, and the most recently used get them.
 *
 * It uses BroadcastChannel: the page's policy forbids SharedWorkers, and locks exist only on pages from TLS.
 *
 * @source RFC 9112 section 9.4 (concurrency); HTML Living Standard section 9.6 (broadcasting)
 */

/** The other connections are for pages and requests. */
const streamsMax = 4
const sayEveryMs = 2000
/** For a window that ended without a message. */
const forgetAfterMs = 9000

interface Said {
  readonly id: string
  /** Epoch milliseconds of its last use. */
  readonly usedAt: number
  /** Wanted streams; 0 while the window is hidden. */
  readonly wants: number
  /** Asks the other windows to report as well. */
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

/** Requests one more stream. Call the result when it has ended. */
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

/** Calls back at each change. Call the result to unsubscribe. */
export const onTurn = (told: () => void): (() => void) => {
  listeners.add(told)
  return () => void listeners.delete(told)
}
