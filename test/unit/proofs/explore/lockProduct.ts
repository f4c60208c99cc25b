/** A product that is small enough to count: two clients, alike, and a lock with leases that they ask for. */
import { assign, setup } from "xstate"
import { NOW } from "../../../../src/proofs/explore/canonical.ts"
import type { ActorView, Happening, Product, ProductView } from "../../../../src/proofs/explore/Product.ts"

interface ClientEvent {
  readonly type: "ASK" | "GRANTED" | "LEFT" | "LEASE_OVER"
  readonly at: number
}

const none = { unchanged: [], refuses: {} }

const clientMachine = setup({
  types: {
    context: {} as { readonly grants: number; readonly neverRead: number },
    events: {} as ClientEvent,
    input: {} as { readonly at: number }
  },
  guards: { mayAsk: ({ context }) => context.grants < 9 },
  actions: {
    acquire: () => {},
    release: () => {},
    schedule: (_, _params: { readonly name: string; readonly at: number; readonly event: { type: string } }) => {},
    noteGrant: assign({ neverRead: ({ event }) => event.at })
  }
}).createMachine({
  id: "client",
  context: { grants: 0, neverRead: 0 },
  initial: "idle",
  states: {
    idle: { meta: none, on: { ASK: { guard: "mayAsk", target: "asking" } } },
    asking: {
      meta: none,
      entry: [{ type: "acquire" }],
      on: { GRANTED: { target: "holding", actions: ["noteGrant"] } }
    },
    holding: {
      tags: ["holds"],
      meta: none,
      entry: [
        {
          type: "schedule",
          params: ({ event }) => ({ name: "lease", at: event.at + 1000, event: { type: "LEASE_OVER" } })
        }
      ],
      on: { LEASE_OVER: "leaving" }
    },
    leaving: { meta: none, entry: [{ type: "release" }], on: { LEFT: "idle" } }
  }
})

export interface Lock {
  readonly isTaken: boolean
}

/** @param isSafe The lock looks whether it is taken. */
export const lockProduct = (isSafe: boolean, names: ReadonlyArray<string> = ["a", "b"]): Product<Lock> => ({
  name: "lock",
  world: { isTaken: false },
  kinds: [
    {
      machine: clientMachine,
      names,
      input: { at: NOW },
      commands: {
        acquire: {
          lane: null,
          outcomes: (_, __, { world }) =>
            isSafe && world.isTaken
              ? []
              : [{ label: "takes the lock", world: { isTaken: true }, answer: { type: "GRANTED" } }]
        },
        release: {
          lane: null,
          outcomes: () => [{ label: "leaves it", world: { isTaken: false }, answer: { type: "LEFT" } }]
        }
      }
    }
  ],
  happenings: ({ actors }: ProductView<Lock>): ReadonlyArray<Happening<Lock>> =>
    actors.map(({ id }: ActorView) => ({
      by: "client",
      label: `${id} asks`,
      tells: [{ to: id, event: { type: "ASK" } }]
    })),
  counters: [],
  lateMax: 0,
  states: [
    {
      sentence: "One client holds the lock.",
      broken: ({ actors }) => (actors.filter(({ tags }) => tags.has("holds")).length > 1 ? "Two hold it." : null)
    }
  ],
  edges: [],
  liveness: [
    {
      sentence: "A client that asks gets the lock.",
      from: ({ actors }) => actors.some(({ commands }) => commands.some(({ type }) => type === "acquire")),
      to: ({ actors }) => actors.some(({ tags }) => tags.has("holds")),
      by: ["service", "time"]
    }
  ]
})
