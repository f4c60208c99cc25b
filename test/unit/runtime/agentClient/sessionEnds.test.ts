/**
 * Node's HTTP/2 session that writes to a JavaScript stream during its shutdown ends the whole process by an assertion.
 */
import { performServerHandshake } from "node:http2"
import { Duplex, duplexPair } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { relayAgent } from "../../../../src/runtime/agentClient/AgentRelay.ts"
import { makeAgentSession } from "../../../../src/runtime/agentClient/AgentSession.ts"

const turns = async () => {
  for (let turn = 0; turn < 50; turn++) await setImmediate()
}

/** A connection to an agent: the service's bytes arrive until it is stuck, and then none do, the end neither. */
const stuckable = () => {
  const [way, far] = duplexPair()
  let isStuck = false
  const near = new Duplex({
    read: () => {},
    write: (chunk, encoding, done) => void (isStuck || way.write(chunk, encoding, done)),
    final: (done) => void (isStuck || way.end(done))
  })
  way.on("data", (chunk: Buffer) => near.push(chunk)).once("end", () => near.push(null))
  const stick = () => {
    isStuck = true
  }
  return { near, far, stick }
}

it("a session ends whose agent has ended while no byte reaches it", async () => {
  const { near, far, stick } = stuckable()
  performServerHandshake(far).on("stream", (stream) => stream.respond({ ":status": 200 }))
  const session = makeAgentSession({ connect: async () => near })
  const exchange = Effect.andThen(session.request({ method: "GET", path: "/v1/" }), Effect.never)
  const asked = Effect.runFork(Effect.scoped(exchange))
  await turns()
  stick()
  far.end()
  await turns()
  session.close()
  await turns()
  assert.isTrue(near.destroyed)
  asked.interruptUnsafe()
})

it("an idle session ends then, too", async () => {
  const { near, far, stick } = stuckable()
  performServerHandshake(far).on("stream", (stream) => {
    stream.respond({ ":status": 200 })
    stream.end("{}")
  })
  const session = makeAgentSession({ connect: async () => near, idleMs: 20 })
  assert.deepStrictEqual(await Effect.runPromise(session.call("GET", "/v1/")), { status: 200, body: {} })
  stick()
  far.end()
  for (let turn = 0; turn < 200 && !near.destroyed; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  assert.isTrue(near.destroyed)
})

it("a relay ends whose service has ended and reads nothing any more", async () => {
  const session = makeAgentSession({ connect: () => new Promise(() => {}) })
  const near = relayAgent(session)
  await turns()
  near.end()
  await turns()
  near.destroy()
  await turns()
  assert.isTrue(near.destroyed)
})

/** Agents that answer with their number, each on the transport of one connection. */
const numbered = () => {
  const farEnds: Array<Duplex> = []
  const agent = () => {
    const [near, far] = duplexPair()
    const number = farEnds.push(far)
    performServerHandshake(far).on("stream", (stream) => {
      stream.respond({ ":status": 200 })
      stream.end(JSON.stringify({ number }))
    })
    return near
  }
  return { agent, farEnds }
}

it("a session that is being opened is not closed for the idle time of the one before it", async () => {
  const { agent, farEnds } = numbered()
  let open = () => {}
  let connections = 0
  const session = makeAgentSession({
    connect: () => {
      if (connections++ === 0) return Promise.resolve(agent())
      return new Promise((resolve) => {
        open = () => resolve(agent())
      })
    },
    idleMs: 1
  })
  const ready = Promise.withResolvers<void>()
  await session.ready()
  farEnds[0]!.destroy()
  await turns()
  const call = Effect.runPromise(session.call("GET", "/v1/"))
  // The idle time of the first session ends while the second one is still being opened.
  setTimeout(ready.resolve, 20)
  await ready.promise
  open()
  assert.deepStrictEqual(await call, { status: 200, body: { number: 2 } })
  session.close()
})

/**
 * An agent that reads everything and sends nothing once its session is open, like one that is frozen or gone behind a
 * port that stays open.
 */
const silent = () => {
  const [near, far] = duplexPair()
  let isSilent = false
  const quiet = new Duplex({
    read: () => {},
    write: (chunk, encoding, done) => (isSilent ? done() : void near.write(chunk, encoding, done))
  })
  near.on("data", (chunk: Buffer) => quiet.push(chunk))
  performServerHandshake(far).on("stream", (stream) => {
    isSilent = true
    stream.on("error", () => {})
  })
  return quiet
}

it.each([
  [false, "is ended, and the next request reaches the agent that is there then"],
  [true, "is kept while the host holds the machine up"]
])("a session whose agent answers neither a request nor pings (held up: %s) %s", async (isHeldUp) => {
  const { agent } = numbered()
  const asked = Promise.withResolvers<void>()
  const first = silent()
  const transports = [first, agent()]
  const session = makeAgentSession({
    connect: async () => transports.shift()!,
    idleMs: null,
    waiting: 0.02,
    isHeldUp: async () => {
      asked.resolve()
      return isHeldUp
    }
  })
  const fault = await Effect.runPromise(Effect.flip(session.call("GET", "/v1/")))
  assert.strictEqual(fault.fault, "lost")
  await asked.promise
  if (isHeldUp) {
    await turns()
    assert.isFalse(first.destroyed)
    assert.lengthOf(transports, 1)
  } else {
    if (!first.destroyed) await new Promise((resolve) => first.once("close", resolve))
    assert.deepStrictEqual(await Effect.runPromise(session.call("GET", "/v1/")), { status: 200, body: { number: 1 } })
  }
  session.close()
})
