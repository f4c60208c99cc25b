/**
 * What lives and lived in a Sandbox: the newest first, as far back as somebody wants to see, and live.
 *
 * The stream is opened before the history is read, so nothing falls between them; what both tell counts once.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import type { InnerTransition, SandboxHistory } from "../../../../../schemas/Transition.ts"
import { get, queryOf } from "../../api.ts"
import { subscribe } from "../../subscribe.ts"
import { type LaneKind, stepOf, type Thing, Things } from "./things.ts"

export interface History {
  /** By their beginnings. */
  readonly things: ReadonlyArray<Thing>
  readonly isLoading: boolean
  /** Null: this is all that the service keeps, or it is not known yet. */
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
/** Of one look, by itself; more when somebody asks. */
const pagesAtOnce = 5
/** What comes in bursts is shown together. */
const gatherMs = 100

/** As the stream tells it: of the Sandbox itself, too. */
type Told = Omit<InnerTransition, "kind"> & { readonly kind: LaneKind }

const nothing: State = { things: [], isLoading: true, cursor: null, fault: null }

class Reader {
  readonly #path: string
  readonly #show: (change: Partial<State>) => void
  readonly #abort = new AbortController()
  readonly #things = new Things()
  /** Of the thing that the last page ended in: it is not shown before all of it is there, for it would look as if it went on. */
  #rest: ReadonlyArray<Told> = []
  #unsubscribe: () => void = () => {}
  #timer: ReturnType<typeof setTimeout> | undefined
  #isAsked = false
  /** Which reading is the newest one: an older one goes on no more. */
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
        // A history can be read where nothing is streamed.
        if (state !== "live" && state !== "connecting" && !this.#isAsked) void this.load(null)
      }
    })
  }

  close() {
    this.#abort.abort()
    this.#unsubscribe()
    clearTimeout(this.#timer)
  }

  /** Some pages, from a cursor on. */
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
