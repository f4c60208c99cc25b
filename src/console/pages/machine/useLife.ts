/**
 * The complete log of one actor, live, with each revision's state: the browser folds the log itself.
 *
 * The stream is opened before the log is read, so no entry is lost between them; duplicates are merged.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import type { AnyMachineSnapshot } from "xstate"
import type { Transition, TransitionList } from "../../../../schemas/Transition.ts"
import { get, queryOf } from "../api.ts"
import type { FeedState } from "../feed.ts"
import { subscribe } from "../subscribe.ts"
import type { Kind } from "./Kind.ts"
import { begin, type Deadlines, deadlinesAfter, decide } from "./simulate.ts"

/** The actor. */
export interface Subject {
  readonly kind: Kind
  readonly actorId: string
  /** Base path of its log. */
  readonly path: string
  /** The stream with its transitions. */
  readonly events: string
}

export interface Revision {
  readonly transition: Transition
  readonly snapshot: AnyMachineSnapshot
  /** Deadlines at this revision. */
  readonly deadlines: Deadlines
}

export interface Life {
  readonly kind: Kind
  /** Without gaps, from revision 1 on. */
  readonly revisions: ReadonlyArray<Revision>
  /** The service's snapshot, as last loaded. */
  readonly stored: TransitionList["stored"] | null
  readonly feed: FeedState
  /** Epoch milliseconds of the last answer. */
  readonly at: number | null
  readonly fault: unknown
}

const pageRows = 1000
const sliceMs = 10

const nothing = { revisions: [], stored: null, feed: { state: "connecting" }, at: null, fault: null } as const

const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

class Follower {
  readonly #subject: Subject
  readonly #show: (change: Partial<Life>) => void
  readonly #abort = new AbortController()
  #unsubscribe: () => void = () => {}
  readonly #ahead = new Map<number, Transition>()
  #revisions: Array<Revision> = []
  #stored: TransitionList["stored"] | null = null
  #isFolding = false
  #isAsking = false
  #isStale = false
  #isLoaded = false

  constructor(subject: Subject, show: (change: Partial<Life>) => void) {
    this.#subject = subject
    this.#show = show
  }

  begin() {
    this.#unsubscribe = this.#follow()
  }

  close() {
    this.#abort.abort()
    this.#unsubscribe()
  }

  #follow(): () => void {
    const { kind, actorId, events } = this.#subject
    return subscribe(events, {
      began: () => void this.#load(),
      event: (data) => {
        const told = data as Transition & { readonly kind: string; readonly actorId: string }
        if (told.kind !== kind.kind || told.actorId !== actorId) return
        void this.#take([told])
        void this.#askStored()
      },
      changed: (feed) => {
        this.#show({ feed })
        // The log is readable even without a stream.
        if (feed.state !== "live" && feed.state !== "connecting" && !this.#isLoaded) void this.#load()
      }
    })
  }

  async #load() {
    try {
      let cursor: string | null = null
      do {
        const page: TransitionList = await get(
          `${this.#subject.path}/transitions${queryOf({ limit: pageRows, cursor })}`,
          this.#abort.signal
        )
        await this.#take(page.transitions)
        this.#tellStored(page.stored)
        cursor = page.nextCursor
      } while (cursor !== null)
      this.#isLoaded = true
    } catch (fault) {
      if (!this.#abort.signal.aborted) this.#show({ fault })
    }
  }

  #tellStored(stored: TransitionList["stored"]) {
    if (this.#stored !== null && stored.revision < this.#stored.revision) return
    this.#stored = stored
    this.#show({ stored, at: Date.now(), fault: null })
    void this.#fold()
  }

  /** One request at a time, and one more if something arrived meanwhile. */
  async #askStored() {
    this.#isStale = true
    if (this.#isAsking) return
    this.#isAsking = true
    try {
      while (this.#isStale) {
        this.#isStale = false
        const page: TransitionList = await get(`${this.#subject.path}/transitions?limit=1`, this.#abort.signal)
        this.#tellStored(page.stored)
      }
    } catch (fault) {
      if (!this.#abort.signal.aborted) this.#show({ fault })
    } finally {
      this.#isAsking = false
    }
  }

  #take(transitions: ReadonlyArray<Transition>): Promise<void> {
    for (const transition of transitions) {
      if (transition.revision > this.#revisions.length) this.#ahead.set(transition.revision, transition)
    }
    return this.#fold()
  }

  /** In slices, so that a long log does not freeze the page. */
  async #fold() {
    if (this.#isFolding || this.#stored === null) return
    this.#isFolding = true
    try {
      for (let until = performance.now() + sliceMs; ; ) {
        const transition = this.#ahead.get(this.#revisions.length + 1)
        if (transition === undefined || this.#abort.signal.aborted) break
        this.#ahead.delete(transition.revision)
        this.#revisions.push(this.#next(transition))
        if (performance.now() < until) continue
        await rest()
        until = performance.now() + sliceMs
      }
      this.#show({ revisions: [...this.#revisions] })
    } catch (fault) {
      this.#show({ fault })
    } finally {
      this.#isFolding = false
    }
  }

  #next(transition: Transition): Revision {
    const { machine } = this.#subject.kind
    const last = this.#revisions.at(-1)
    if (last === undefined) {
      // The context contains the whole input, before a client's changes as well; the input's instant is the creation time.
      const { context } = this.#stored!
      const { snapshot, commands } = begin(machine, {
        ...context,
        ...Object(context["madeWith"]),
        at: context["createdAt"]
      })
      return { transition, snapshot, deadlines: deadlinesAfter({}, commands, null) }
    }
    const { event, revision, cause } = transition
    const verdict = decide(machine, last.snapshot, event)
    if (verdict.type !== "accepted") throw new Error(`This browser's machine does not accept revision ${revision}.`)
    const fired = cause === "deadline" ? event.type : null
    const deadlines = deadlinesAfter(last.deadlines, verdict.commands, fired)
    return { transition, snapshot: verdict.snapshot, deadlines }
  }
}

export interface FollowedLife extends Life {
  readonly reload: () => void
}

export const useLife = (subject: Subject): FollowedLife => {
  const { kind, actorId } = subject
  const [life, setLife] = useState<Omit<Life, "kind">>(nothing)
  const [turn, setTurn] = useState(0)
  const current = useRef<Follower | null>(null)
  useEffect(() => {
    setLife(nothing)
    const follower = new Follower(subject, (change) => {
      if (current.current === follower) setLife((before) => ({ ...before, ...change }))
    })
    current.current = follower
    follower.begin()
    return () => {
      current.current = null
      follower.close()
    }
  }, [actorId, turn])
  const reload = useCallback(() => setTurn((before) => before + 1), [])
  return { kind, ...life, reload }
}
