import { EventEmitter } from "node:events"
import type { Server } from "node:net"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { collectWhenAlone } from "../../../src/agent/idleHeap.ts"

describe("an agent", () => {
  const server = new EventEmitter()
  const collected = vi.fn()
  const connect = () => {
    const socket = new EventEmitter()
    server.emit("connection", socket)
    return () => socket.emit("close")
  }
  beforeEach(() => {
    vi.useFakeTimers()
    collectWhenAlone(server as Server, collected)
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it("collects its heap once, when no connection has been open for five seconds", () => {
    const [closeOne, closeOther] = [connect(), connect()]
    closeOne()
    vi.advanceTimersByTime(60_000)
    closeOther()
    vi.advanceTimersByTime(4_000)
    const closeNext = connect()
    vi.advanceTimersByTime(60_000)
    assert.strictEqual(collected.mock.calls.length, 0)
    closeNext()
    vi.advanceTimersByTime(60_000)
    assert.strictEqual(collected.mock.calls.length, 1)
  })
})
