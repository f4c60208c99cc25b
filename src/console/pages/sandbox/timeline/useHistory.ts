/**
 * The present and former resources in a Sandbox: the newest first, further back on demand, and live.
 *
 * The stream is opened before the history is read, so no event is lost between them; duplicates are merged.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import type { InnerTransition, SandboxHistory } from "../../../../../schemas/Transition.ts"
import { get, queryOf } from "../../api.ts"
import { subscribe } from "../../subscribe.ts"
import { type LaneKind, stepOf, type Thing, Things } from "./things.ts"

export interface History {
  /** Sorted by their start. */
  readonly things: ReadonlyArray<Thing>
  readonly isLoading: boolean
  /** Null: the service has no older ones, or this is not known yet. */
  readonly older: (() => void) | null
  readonly fault: unknown
  readonly reload: () => void
}

interface State {
  readonly things: ReadonlyArray<Thing>
  readonly isLoading: boolean
  readonly cursor: string | null
  readonly fault: unknown
}

const pageRows = 1000
/** Pages that are loaded automatically; more on demand. */
const pagesAtOnce = 5
/** Bursts are shown together. */
const gatherMs = 100

/** An event of the stream, also of the Sandbox itself. */
type Told = Omit<InnerTransition, "kind"> & { readonly kind: LaneKind }

const nothing: State = { things: [], isLoading: true, cursor: null, fault: null }

class Reader {
  readonly #path: string
  readonly #show: (change: Partial<State>) => void
  readonly #abort = new AbortController()
  readonly #things = new Things()
  /** The incomplete resource at the end of the last page: it is hidden until it is complete, because it would look unfinished. */
  #rest: ReadonlyArray<Told> = []
  #unsubscribe: () => void = () => {}
  #timer: ReturnType<typeof setTimeout> | undefined
  #isAsked = false
  /** Number of the latest load: older ones stop. */
  #turn = 0

  constructor(id: string, show: (change: Partial<State>) => void) {
    this.#path = `/api/v2/sandboxes/${id}`
    this.#show = show
  }

  begin() {
    this.#unsubscribe = subscribe(`${this.#path}/events`, {
      began: () => void this.load(null),
      event: (data) => this.#take([data as Told]),
      changed: ({ state }) => {
        // The history is readable even without a stream.
        if (state !== "live" && state !== "connecting" && !this.#isAsked) void this.load(null)
      }
    })
  }

  close() {
    this.#abort.abort()
    this.#unsubscribe()
    clearTimeout(this.#timer)
  }

  /** Loads some pages from a cursor on. */
  async load(from: string | null) {
    this.#isAsked = true
    this.#show({ isLoading: true, fault: null })
    const turn = ++this.#turn
    if (from === null) this.#rest = []
    let cursor = from
    try {
      for (let page = 0; page < pagesAtOnce; page++) {
        const { transitions, nextCursor }: SandboxHistory = await get(
          `${this.#path}/history${queryOf({ limit: pageRows, cursor })}`,
          this.#abort.signal
        )
        if (turn !== this.#turn) return
        const read = [...this.#rest, ...transitions]
        const whole =
          nextCursor === null ? read.length : read.findIndex(({ actorId }) => actorId === read.at(-1)!.actorId)
        this.#take(read.slice(0, whole))
        this.#rest = read.slice(whole)
        cursor = nextCursor
        if (cursor === null) break
      }
      this.#show({ things: this.#gathered(), isLoading: false, cursor })
    } catch (fault) {
      if (!this.#abort.signal.aborted && turn === this.#turn)
        this.#show({ things: this.#gathered(), isLoading: false, cursor, fault })
    }
  }

  #take(transitions: ReadonlyArray<Told>) {
    let isNew = false
    for (const transition of transitions) {
      if (transition.kind === "sandbox") continue
      isNew = this.#things.add(transition.kind, transition.actorId, stepOf(transition)) || isNew
    }
    if (!isNew || this.#timer !== undefined) return
    this.#timer = setTimeout(() => this.#show({ things: this.#gathered() }), gatherMs)
  }

  #gathered(): ReadonlyArray<Thing> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    return this.#things.sorted()
  }
}

export const useHistory = (id: string): History => {
  const [state, setState] = useState<State>(nothing)
  const [turn, setTurn] = useState(0)
  const current = useRef<Reader | null>(null)
  useEffect(() => {
    setState(nothing)
    const reader = new Reader(id, (change) => {
      if (current.current === reader) setState((before) => ({ ...before, ...change }))
    })
    current.current = reader
    reader.begin()
    return () => {
      current.current = null
      reader.close()
    }
  }, [id, turn])
  const { things, isLoading, cursor, fault } = state
  const older = useCallback(() => void current.current?.load(cursor), [cursor])
  const reload = useCallback(() => setTurn((before) => before + 1), [])
  return { things, isLoading, older: cursor === null || isLoading ? null : older, fault, reload }
}
