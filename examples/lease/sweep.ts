/**
 * A crash at each effect: one scenario, played again and again; each time the life of the process ends at another effect, and a new life goes on with the
 * same database. Effects are: each commit (before it, and after it), each call of a client (before, and after), and each answer to a client.
 */
import { isDeepStrictEqual } from "node:util"
import { ActorHost, ActorSystem, Actors, JournalDatabase, replay } from "atoll/engine"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { type Grant, lockMachine } from "./lock.ts"
import { Clients, lockActors } from "./lockActor.ts"

const leaseMs = 40
const lifeMaxMs = 20_000
const clients = ["ann", "ben", "eve"] as const
type Client = (typeof clients)[number]
export type Act = readonly [client: Client, does: "ACQUIRE" | "RENEW" | "RELEASE" | "LEAVE"]

/** The same acts for the same seed. @source Park and Miller, "Random number generators: good ones are hard to find" */
export const actsOf = (seed: number, count: number): ReadonlyArray<Act> => {
  let state = (seed % 2147483646) + 1
  const one = <A>(list: ReadonlyArray<A>): A => {
    state = (state * 48271) % 2147483647
    return list[state % list.length]!
  }
  return Array.from({ length: count }, () => [one(clients), one(["ACQUIRE", "ACQUIRE", "RENEW", "RELEASE", "LEAVE"])])
}

/** What outlives the process: what clients heard, and were answered. */
class Outside {
  effects = 0
  /** The life that does effects now; 0: none, the process is dead. */
  life = 1
  readonly heard: Array<Grant> = []
  /** By client: the highest token that it heard. */
  readonly tokens = new Map<string, number>()
  /** The newest revision that an answer named. */
  answered = 0
  /** The acts that are answered. */
  done = 0
  readonly crashAt: number
  readonly crashed = Deferred.makeUnsafe<void>()

  constructor(crashAt: number) {
    this.crashAt = crashAt
  }

  /** An effect of a life. At the effect of that number it ends, and does nothing any more. */
  pass(life: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (life !== this.life) return Effect.never
      if (++this.effects !== this.crashAt) return Effect.void
      this.life = 0
      return Effect.andThen(Deferred.succeed(this.crashed, undefined), Effect.never)
    })
  }

  /** @param effect What was sent is done, even if its sender ends. */
  counted<A, E, R>(life: number, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.andThen(
      this.pass(life),
      Effect.tap(Effect.uninterruptible(effect), () => this.pass(life))
    )
  }

  readonly hear = (grant: Grant) =>
    Effect.sync(() => {
      this.heard.push(grant)
      this.tokens.set(grant.client, Math.max(grant.token, this.tokens.get(grant.client) ?? 0))
      return true
    })
}

type Kinds = typeof lockActors
type Sql = JournalDatabase["Service"]

const countedJournal = (sql: Sql, counted: (query: ReturnType<Sql["unsafe"]>) => unknown): Sql =>
  new Proxy(sql, {
    get: (target, property, receiver) =>
      property !== "unsafe"
        ? Reflect.get(target, property, receiver)
        : (statement: string, parameters: ReadonlyArray<unknown>) => {
            const query = target.unsafe(statement, parameters)
            return /(update|insert into) actors/.test(statement) ? counted(query) : query
          }
  })

/** The present life of the process. */
const lifeOf = (outside: Outside, actors: Kinds) => {
  const { life } = outside
  const journal = Effect.map(JournalDatabase, (sql) => countedJournal(sql, (query) => outside.counted(life, query)))
  return actors.pipe(
    Layer.provideMerge(ActorSystem.layer({ stopWithinMs: 10 })),
    Layer.provide(Layer.effect(JournalDatabase, journal)),
    Layer.provide(Layer.succeed(Clients, { tell: (grant) => outside.counted(life, outside.hear(grant)) }))
  )
}

const eventOf = (outside: Outside, [client, type]: Act) =>
  type === "ACQUIRE" || type === "LEAVE" ? { type, client } : { type, token: outside.tokens.get(client) ?? 0 }

const until = (condition: Effect.Effect<boolean>): Effect.Effect<void> =>
  Effect.flatMap(condition, (holds) => (holds ? Effect.void : Effect.delay(until(condition), 2)))

/** The acts that are not answered yet, in turn; then the lock's leases end by their deadlines. */
const play = Effect.fnUntraced(function* (outside: Outside, id: string, acts: ReadonlyArray<Act>) {
  const host = yield* ActorHost
  const { life } = outside
  const sender = { cause: "client", requestId: null }
  while (outside.done < acts.length) {
    const input = { leaseMs, at: Date.now() }
    const lock = { id, accountId: "", sandboxId: "", input, payload: null, ...sender, idempotency: null }
    // Null: an earlier life made it.
    yield* host.create(lockMachine, lock)
    const state = yield* host.send(lockMachine, id, eventOf(outside, acts[outside.done]!), sender).pipe(
      Effect.catchTag("EventRefused", () => Effect.succeed(null)),
      Effect.orDie
    )
    yield* outside.pass(life)
    outside.answered = state?.revision ?? outside.answered
    outside.done++
    yield* until(host.isQuiet)
  }
  const { read } = yield* Actors
  yield* until(Effect.map(read(id), (record) => record?.status === lockMachine.config.initial))
  yield* until(host.isQuiet)
})

/** One sentence for each promise that was broken. */
const faultsOf = Effect.fnUntraced(function* (outside: Outside, id: string) {
  const { read, log } = yield* Actors
  const record = (yield* read(id))!
  const entries = yield* log(id, 0, 1000)
  const events = entries.slice(1).map(({ event }) => event)
  const faults: Array<string> = []
  const expected = (holds: boolean, sentence: string) => {
    if (!holds) faults.push(sentence)
  }
  const contexts = entries.map((_, index) =>
    replay(lockMachine, { leaseMs, at: entries[0]!.at }, events.slice(0, index))
  )
  const grants = contexts.flatMap(({ context }) => [context as { holder: string | null; token: number }])
  expected(record.revision >= outside.answered, `An answer named revision ${outside.answered}: it is gone.`)
  expected(isDeepStrictEqual(contexts.at(-1)!.context, record.context), "The log, folded, is not what is stored.")
  for (const { client, token } of outside.heard) {
    expected(
      grants.some((one) => one.token === token && one.holder === client),
      `${client} heard of the token ${token}, which it never got.`
    )
    expected(
      outside.heard.every((one) => one.token !== token || one.client === client),
      `Two clients heard of the token ${token}.`
    )
  }
  for (const { holder, token } of grants) {
    const wasTold = outside.heard.some((one) => one.token === token)
    const isNext = grants.some((one) => one.token === token + 1)
    expected(holder === null || wasTold || isNext, `${holder} got the token ${token}, and never heard of it.`)
  }
  for (const [index, { token }] of grants.entries()) {
    expected(index === 0 || token - grants[index - 1]!.token <= 1, `The token went to ${token}.`)
    expected(index === 0 || token >= grants[index - 1]!.token, `The token fell to ${token}.`)
  }
  return faults
})

export interface Swept {
  readonly effects: number
  /** Fewer than effects where a later life went at another pace, and had fewer. */
  readonly crashes: number
  /** With the number of the effect at which the life ended. */
  readonly faults: ReadonlyArray<string>
}

/** Plays until the end or the crash. What waits for the dead process waits for ever, as a caller elsewhere would: nothing waits for that. */
const playOrCrash = Effect.fnUntraced(function* (outside: Outside, id: string, acts: ReadonlyArray<Act>) {
  const playing = yield* Effect.forkDetach(play(outside, id, acts))
  yield* Effect.raceFirst(Fiber.join(playing), Deferred.await(outside.crashed))
})

/** @param crashAt Beyond the last effect there is no crash. */
const playedTwice = Effect.fnUntraced(function* (id: string, acts: ReadonlyArray<Act>, crashAt: number, actors: Kinds) {
  const outside = new Outside(crashAt)
  yield* Effect.provide(playOrCrash(outside, id, acts), lifeOf(outside, actors), { local: true })
  outside.life = 2
  const again = play(outside, id, acts).pipe(
    Effect.timeout(lifeMaxMs),
    Effect.andThen(faultsOf(outside, id)),
    Effect.catchTag("TimeoutError", () => Effect.succeed([`The lock was not free after ${lifeMaxMs} ms.`]))
  )
  const faults = yield* Effect.provide(again, lifeOf(outside, actors), { local: true })
  return { effects: outside.effects, hasCrashed: outside.effects >= crashAt, faults }
})

/**
 * The scenario without a crash, which counts the effects, and then once with a crash at each.
 *
 * @param tell Called after each crash.
 * @param actors Others have faults to be found.
 */
export const sweep = Effect.fnUntraced(function* (
  acts: ReadonlyArray<Act>,
  tell: (done: number, of: number) => void = () => {},
  actors: Kinds = lockActors
) {
  const run = `lock_${Date.now().toString(36)}`
  const { effects } = yield* playedTwice(run, acts, Number.POSITIVE_INFINITY, actors)
  const faults: Array<string> = []
  let crashes = 0
  for (let crashAt = 1; crashAt <= effects; crashAt++) {
    const played = yield* playedTwice(`${run}_${crashAt}`, acts, crashAt, actors)
    faults.push(...played.faults.map((fault) => `effect ${crashAt}: ${fault}`))
    if (played.hasCrashed) crashes++
    tell(crashAt, effects)
  }
  return { effects, crashes, faults } satisfies Swept
})
