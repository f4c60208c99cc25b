/** One lock and its clients, to be explored: what comes of its command, what clients do, and what always holds. */
import { type ActorView, NOW, type Product, type ProductView } from "atoll/proofs"
import type { AnyStateMachine } from "xstate"
import type { Grant, LockContext } from "./lock.ts"

/** What each client was told last: the token with which it works. 0: none. */
export interface World {
  readonly clients: Readonly<Record<string, { readonly token: number }>>
}

type View = ProductView<World>

const lockOf = ({ actor }: View): ActorView & { readonly context: LockContext } => actor("lock")!

const told = ({ clients }: World, client: string, token: number): World => ({
  clients: { ...clients, [client]: { token } }
})

const send = (label: string, event: { readonly type: string; readonly [field: string]: unknown }, world: World) => ({
  by: "client" as const,
  label,
  tells: [{ to: "lock", event }],
  world
})

/** A client asks, again and again, too; it renews, gives back and leaves whenever it likes; it may hold an old token for long. */
const happenings = ({ world }: View) =>
  Object.entries(world.clients).flatMap(([client, { token }]) =>
    token === 0
      ? [
          send(`${client} asks`, { type: "ACQUIRE", client }, world),
          send(`${client} leaves`, { type: "LEAVE", client }, world)
        ]
      : [
          send(`${client} renews`, { type: "RENEW", token }, world),
          send(`${client} gives it back`, { type: "RELEASE", token }, told(world, client, 0))
        ]
  )

const tellHolder = {
  lane: "tell",
  outcomes: (_: ActorView, { client, token }: Grant, { world }: View) => [
    { label: `${client} hears`, world: told(world, client, token) },
    { label: `there is no ${client}`, isFault: true, answer: { type: "GONE", token } }
  ]
}

/** @param machine The lock, or one with a fault. */
export const lockProduct = (machine: AnyStateMachine, names: ReadonlyArray<string>): Product<World> => ({
  name: "lease",
  world: { clients: Object.fromEntries(names.map((name) => [name, { token: 0 }])) },
  kinds: [{ machine, names: ["lock"], input: { leaseMs: 1000, at: NOW }, commands: { tellHolder } }],
  happenings,
  counters: ["token"],
  lateMax: 1,
  states: [
    {
      sentence: "No two clients have the same token.",
      broken: ({ world }) => {
        const tokens = Object.values(world.clients).flatMap(({ token }) => (token === 0 ? [] : [token]))
        return new Set(tokens).size < tokens.length ? `The tokens are ${tokens.join(", ")}.` : null
      }
    },
    {
      sentence: "The lock is held by one client, or free without a line.",
      broken: (view) => {
        const { tags, context } = lockOf(view)
        const { holder, waiting } = context
        const holds = tags.has("held")
          ? holder !== null && !waiting.includes(holder)
          : holder === null && waiting.length === 0
        return holds ? null : `The holder is ${holder}, and ${waiting.join(", ") || "no client"} waits.`
      }
    }
  ],
  edges: [
    {
      sentence: "The token grows with each holder, and never falls.",
      broken: (before, _, after) => {
        const [old, now] = [lockOf(before).context, lockOf(after).context]
        const isNew = now.holder !== null && now.holder !== old.holder
        return (isNew ? now.token > old.token : now.token >= old.token) ? null : `${old.token} → ${now.token}`
      }
    },
    {
      sentence: "A lease ends by its own token only.",
      broken: (before, { deliveries }) => {
        const { token } = lockOf(before).context
        const wrong = deliveries.find(
          ({ verdict, event }) => verdict === "accepted" && "token" in event && event["token"] !== token
        )
        return wrong === undefined ? null : `${wrong.event.type} had ${wrong.event["token"]}, the lock ${token}.`
      }
    }
  ],
  liveness: [
    ...names.map((name) => ({
      sentence: `${name} gets the lock for which it waits, or leaves.`,
      from: (view: View) => lockOf(view).context.waiting.includes(name),
      to: (view: View) => !lockOf(view).context.waiting.includes(name),
      by: ["service", "time"] as const
    })),
    {
      sentence: "A lease ends, even if its holder never comes back.",
      from: (view) => lockOf(view).tags.has("held"),
      to: (view) => !lockOf(view).tags.has("held"),
      by: ["service", "time"]
    }
  ]
})
