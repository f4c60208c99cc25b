/** When a tunnel's other end counts as gone. */
import { EventEmitter } from "node:events"
import { PassThrough } from "node:stream"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import type { WebSocket } from "ws"
import { bridge } from "../../../../src/access/serviceAccess/tunnelBridge.ts"

/** Answers no ping by itself. */
class SilentSocket extends EventEmitter {
  readonly OPEN = 1
  readonly readyState = 1
  readonly protocol = "atoll.tunnel"
  readonly bufferedAmount = 0
  isPaused = false
  pings = 0
  isTerminated = false
  ping() {
    this.pings++
  }
  pause() {
    this.isPaused = true
  }
  resume() {
    this.isPaused = false
  }
  terminate() {
    this.isTerminated = true
  }
}

const minuteMs = 60_000

describe("a tunnel's bridge", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it("ends a tunnel whose other end answers no ping", () => {
    const socket = new SilentSocket()
    bridge(socket as unknown as WebSocket, new PassThrough())
    vi.advanceTimersByTime(minuteMs)
    assert.isTrue(socket.isTerminated)
  })

  it("keeps a tunnel whose bytes the program in the Sandbox does not take: it reads nothing then, no pong either", () => {
    const socket = new SilentSocket()
    const program = new PassThrough({ highWaterMark: 10 })
    program.pause()
    bridge(socket as unknown as WebSocket, program)
    // The program's own output would come back out of a PassThrough.
    program.removeAllListeners("data")
    program.pause()
    socket.emit("message", Buffer.alloc(100), true)
    assert.isTrue(socket.isPaused)
    vi.advanceTimersByTime(10 * minuteMs)
    assert.isFalse(socket.isTerminated)
    assert.isAbove(socket.pings, 1)
  })

  it("keeps a tunnel whose other end sends unsolicited pongs: an end that is held back reads no pings", () => {
    const socket = new SilentSocket()
    bridge(socket as unknown as WebSocket, new PassThrough())
    for (let turn = 0; turn < 20; turn++) {
      vi.advanceTimersByTime(minuteMs / 4)
      socket.emit("pong")
    }
    assert.isFalse(socket.isTerminated)
  })
})
