/** A lock with leases: one client holds it, the others wait in line. Each holder gets a higher token, by which its writes are fenced. */
import type { StateMeta } from "atoll/engine"
import { assign, setup } from "xstate"

export interface LockContext {
  readonly leaseMs: number
  readonly holder: string | null
  /** Of the present holder, else of the last one. */
  readonly token: number
  /** When the lease is over, in epoch milliseconds. */
  readonly expiresAt: number | null
  readonly waiting: ReadonlyArray<string>
}

export type LockEvent = { readonly at: number } & (
  | { readonly type: "ACQUIRE" | "LEAVE"; readonly client: string }
  /** RENEW, RELEASE: the holder's. EXPIRE: the deadline fires. GONE: the new holder could not be told. */
  | { readonly type: "RENEW" | "RELEASE" | "EXPIRE" | "GONE"; readonly token: number }
)

export type Grant = { readonly client: string; readonly token: number; readonly expiresAt: number }
type Args = { readonly context: LockContext }
type Deadline = { name: string; at: number | null; event: { type: string; token: number } }

const waitingMax = 100
const past = { unchanged: ["LEAVE", "RELEASE", "GONE"], refuses: { RENEW: "NOT_HOLDER", EXPIRE: "STALE_DEADLINE" } }

const lease = {
  type: "schedule",
  params: ({ context: { expiresAt: at, token } }: Args) => ({ name: "lease", at, event: { type: "EXPIRE", token } })
} as const
const tell = {
  type: "tellHolder",
  params: ({ context: { holder, token, expiresAt } }: Args) => ({ client: holder!, token, expiresAt: expiresAt! })
} as const
const ends = [
  { guard: "isLast", target: "free", actions: ["noteFree", lease], description: "No client waits." },
  { guard: "isToken", actions: ["noteNext", lease, tell], description: "The first in line gets it." }
] as const

export const lockMachine = setup({
  types: {
    input: {} as { readonly leaseMs: number; readonly at: number },
    context: {} as LockContext,
    events: {} as LockEvent,
    meta: {} as StateMeta,
    tags: {} as "held"
  },
  guards: {
    /** The event is about the present lease. */
    isToken: ({ context, event }) => "token" in event && event.token === context.token,
    isLast: ({ context, event }) => "token" in event && event.token === context.token && context.waiting.length === 0,
    isHolder: ({ context, event }) => "client" in event && event.client === context.holder,
    isWaiting: ({ context, event }) => "client" in event && context.waiting.includes(event.client),
    hasRoom: ({ context }) => context.waiting.length < waitingMax
  },
  actions: {
    /** Command: the holder hears of its lease. Answers nothing, or GONE. */
    tellHolder: (_, _params: Grant) => {},
    schedule: (_, _params: Deadline) => {},
    noteTaken: assign(({ context: { token, leaseMs }, event }) =>
      "client" in event ? { holder: event.client, token: token + 1, expiresAt: event.at + leaseMs } : {}
    ),
    noteWaiting: assign(({ context: { waiting }, event }) =>
      "client" in event ? { waiting: [...new Set([...waiting, event.client])] } : {}
    ),
    noteLeft: assign(({ context: { waiting }, event }) =>
      "client" in event ? { waiting: waiting.filter((client) => client !== event.client) } : {}
    ),
    noteRenewed: assign(({ context: { leaseMs }, event }) => ({ expiresAt: event.at + leaseMs })),
    noteNext: assign(({ context: { token, leaseMs, waiting }, event }) => ({
      holder: waiting[0]!,
      token: token + 1,
      expiresAt: event.at + leaseMs,
      waiting: waiting.slice(1)
    })),
    noteFree: assign({ holder: null, expiresAt: null })
  }
}).createMachine({
  id: "lock",
  version: "1",
  description: "A lock with leases.",
  context: ({ input }) => ({ leaseMs: input?.leaseMs, holder: null, token: 0, expiresAt: null, waiting: [] }),
  initial: "free",
  states: {
    free: {
      description: "The next client that asks gets it.",
      meta: past,
      on: { ACQUIRE: { target: "held", actions: ["noteTaken", lease, tell], description: "Its lease begins." } }
    },
    held: {
      description: "A client has it until its lease is over; others may wait.",
      tags: ["held"],
      meta: { ...past, refuses: { ...past.refuses, ACQUIRE: "LINE_FULL" } },
      on: {
        ACQUIRE: [
          { guard: "isHolder", actions: [tell], description: "The holder asks again, and hears again." },
          { guard: "isWaiting", actions: ["noteWaiting"], description: "It keeps its place in line." },
          { guard: "hasRoom", actions: ["noteWaiting"], description: "It waits in line." }
        ],
        RENEW: { guard: "isToken", actions: ["noteRenewed", lease], description: "The lease is longer." },
        LEAVE: { guard: "isWaiting", actions: ["noteLeft"], description: "It does not wait any longer." },
        RELEASE: ends,
        EXPIRE: ends,
        GONE: ends
      }
    }
  }
})
