/** An HTTP/2 session of Node's that writes to a JavaScript stream while that is being shut down ends the whole process by an assertion. */
import { performServerHandshake } from "node:http2"
import { Duplex, duplexPair } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { relayAgent } from "../../../src/runtime/agentClient/AgentRelay.ts"
import { makeAgentSession } from "../../../src/runtime/agentClient/AgentSession.ts"

const turns = async () => {
  for (let turn = 0; turn < 50; turn++) await setImmediate()
}

/** A connection to an agent: what we send gets there until it is stuck, and then nothing does, our end neither. */
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

it("a session ends whose agent has ended while nothing gets through to it", async () => {
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

it("a session that has nothing to do ends then, too", async () => {
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

it("a relay ends whose service has ended and takes nothing any more", async () => {
  const session = makeAgentSession({ connect: () => new Promise(() => {}) })
  const near = relayAgent(session)
  await turns()
  near.end()
  await turns()
  near.destroy()
  await turns()
  assert.isTrue(near.destroyed)
})
