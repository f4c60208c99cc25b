/**
 * Follows a stream of server-sent events and resumes after lost connections: each event once, in order.
 *
 * It uses fetch instead of EventSource, which cannot send headers.
 *
 * @source HTML Living Standard section 9.2.6 (interpreting an event stream)
 */
import { ApiFault, open, queryOf } from "./api.ts"
import { isTurn, onTurn, want } from "./turn.ts"

/** `liveUntil`: epoch milliseconds of the last moment at which the stream was live; null: it never was. */
export type FeedState =
  | { readonly state: "connecting" }
  | { readonly state: "live" }
  /** The connection is lost; it is retried. */
  | { readonly state: "lost"; readonly fault: unknown; readonly liveUntil: number | null }
  /** More recently used windows of this browser have all available connections. */
  | { readonly state: "resting"; readonly liveUntil: number | null }
  /** There is no such stream; it is not requested again. */
  | { readonly state: "refused" }

export interface Follower {
  /** The stream starts: earlier events are not in it. */
  readonly began: () => void
  /** `name`: the kind of event. */
  readonly event: (data: unknown, name: string) => void
  readonly changed: (state: FeedState) => void
}

const pauseFirstMs = 500
const pauseMaxMs = 15_000
/** Heartbeats arrive every 15 s. */
const silenceMaxMs = 40_000
/** A browser has six connections to a host, for all of its tabs together: a hidden page releases its connection after so long. */
const unseenMaxMs = 3000
/** After so long the browser may render: a fast stream must not freeze the page. */
const sliceMs = 10

/** Ends early when the network is back or the signal aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      removeEventListener("online", done)
      signal.removeEventListener("abort", done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    addEventListener("online", done)
    signal.addEventListener("abort", done)
  })

/** The fields of complete events. */
async function* eventsOf(body: ReadableStream<Uint8Array>, heard: () => void) {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let text = ""
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    heard()
    text += decoder.decode(value, { stream: true })
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const fields = text
        .slice(0, end)
        .split("\n")
        .map((line) => /^(\w+): ?(.*)$/.exec(line))
        .filter((found) => found !== null)
      text = text.slice(end + 2)
      const field = (name: string): string | null => fields.findLast(([, found]) => found === name)?.[2] ?? null
      yield { id: field("id"), name: field("event") ?? "message", data: field("data") }
    }
  }
}

/** Resolves once the page is visible, or the signal aborts. */
const seen = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return
      document.removeEventListener("visibilitychange", look)
      signal.removeEventListener("abort", look)
      resolve()
    }
    document.addEventListener("visibilitychange", look)
    signal.addEventListener("abort", look)
    look()
  })

/** Calls back once the page has been hidden for a while. Call the result to unsubscribe. */
const whenUnseen = (told: () => void): (() => void) => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = () => {
    clearTimeout(timer)
    if (document.hidden) timer = setTimeout(told, unseenMaxMs)
  }
  document.addEventListener("visibilitychange", look)
  look()
  return () => {
    clearTimeout(timer)
    document.removeEventListener("visibilitychange", look)
  }
}

/** Resolves once this window may have streams, or the signal aborts. */
const turn = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      unheard()
      signal.removeEventListener("abort", done)
      resolve()
    }
    const unheard = onTurn(() => {
      if (isTurn()) done()
    })
    signal.addEventListener("abort", done)
    if (isTurn() || signal.aborted) done()
  })

const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

/**
 * Runs until the signal aborts or the session ends; pauses while the page is hidden.
 *
 * @param query The start or resume position, for a stream whose positions are not the ids of its events.
 */
export const follow = async (
  path: string,
  follower: Follower,
  signal: AbortSignal,
  query = (position: string | null): string => queryOf({ after: position })
): Promise<void> => {
  const unwanted = want()
  try {
    await followWanted(path, follower, signal, query)
  } finally {
    unwanted()
  }
}

const followWanted = async (
  path: string,
  follower: Follower,
  signal: AbortSignal,
  query: (position: string | null) => string
): Promise<void> => {
  let position: string | null = null
  let pauseMs = pauseFirstMs
  let liveUntil: number | null = null
  while (!signal.aborted) {
    await seen(signal)
    if (!isTurn()) follower.changed({ state: "resting", liveUntil })
    await turn(signal)
    if (signal.aborted) return
    const silence = new AbortController()
    let isLive = false
    let heardAt = Date.now()
    // A connection over a lost network is only silent.
    const cut = () => silence.abort()
    const offline = () => {
      heardAt = Date.now()
      cut()
    }
    addEventListener("offline", offline)
    const stay = whenUnseen(cut)
    const keep = onTurn(cut)
    let timer: ReturnType<typeof setTimeout> | undefined
    const heard = () => {
      heardAt = Date.now()
      clearTimeout(timer)
      timer = setTimeout(cut, silenceMaxMs)
    }
    let fault: unknown = null
    try {
      heard()
      const answer = await open("GET", `${path}${query(position)}`, {
        signal: AbortSignal.any([signal, silence.signal])
      })
      if (position === null) follower.began()
      isLive = true
      follower.changed({ state: "live" })
      let until = performance.now() + sliceMs
      for await (const { id, name, data } of eventsOf(answer.body!, heard)) {
        pauseMs = pauseFirstMs
        if (data !== null) follower.event(JSON.parse(data), name)
        if (id !== null) position = id
        if (performance.now() < until) continue
        await rest()
        until = performance.now() + sliceMs
      }
    } catch (cause) {
      fault = cause
    } finally {
      clearTimeout(timer)
      removeEventListener("offline", offline)
      stay()
      keep()
    }
    if (signal.aborted) return
    // A stream that fell silent is not known to have been live after its last byte.
    if (isLive) liveUntil = silence.signal.aborted ? heardAt : Date.now()
    if (fault instanceof ApiFault && fault.status === 401) return
    if (fault instanceof ApiFault && fault.status === 404) return follower.changed({ state: "refused" })
    if (fault instanceof ApiFault && fault.code === "CURSOR_STALE") position = null
    if (document.hidden || !isTurn()) {
      follower.changed({ state: "connecting" })
      continue
    }
    follower.changed({ state: "lost", fault, liveUntil })
    await pause(pauseMs, signal)
    pauseMs = Math.min(pauseMs * 2, pauseMaxMs)
  }
}
