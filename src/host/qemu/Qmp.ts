/**
 * The control socket of one QEMU process.
 *
 * Each line is one JSON object, in both directions. QEMU is untrusted once a guest has run in it: lines are bounded, and a line that does not parse
 * ends the connection.
 *
 * @source QEMU docs/interop/qmp-spec.rst
 */
import type { Socket } from "node:net"

const LINE_MAX_CHARACTERS = 1024 ** 2

export interface QmpEvent {
  readonly event: string
  readonly data: Readonly<Record<string, unknown>>
}

interface Message {
  readonly QMP?: unknown
  readonly event?: unknown
  readonly data?: unknown
  readonly return?: unknown
  readonly error?: { readonly desc?: unknown }
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

export class Qmp {
  /** Resolves when the connection has ended for any reason. */
  readonly closed: Promise<void>
  /** QEMU's last reported reason for the machine's end: `guest-shutdown`, `guest-reset`, `guest-panic`, `host-qmp-quit`, … */
  shutdownReason: string | null = null
  private readonly socket: Socket
  private readonly waiting: Array<Waiting> = []
  private readonly listeners = new Set<(event: QmpEvent) => void>()
  private text = ""

  /** True when a command was not answered in time and the connection was closed for that. */
  isHung = false
  private readonly answerTimeoutMs: number

  /** Negotiates. Rejects when the peer is no QMP server or does not answer in time. Every command must be answered within `answerTimeoutMs`. */
  static async open(socket: Socket, answerTimeoutMs: number): Promise<Qmp> {
    const qmp = new Qmp(socket, answerTimeoutMs)
    await qmp.settled("greeting")
    await qmp.execute("qmp_capabilities")
    return qmp
  }

  private constructor(socket: Socket, answerTimeoutMs: number) {
    this.socket = socket
    this.answerTimeoutMs = answerTimeoutMs
    socket.setEncoding("utf8")
    socket.on("data", (text: string) => this.receive(text))
    socket.on("error", () => {})
    this.closed = new Promise((resolve) =>
      socket.once("close", () => {
        for (const { reject } of this.waiting.splice(0)) reject(new Error("QEMU closed its control socket"))
        resolve()
      })
    )
  }

  execute(command: string, args?: Readonly<Record<string, unknown>>): Promise<unknown> {
    if (this.socket.destroyed) return Promise.reject(new Error("QEMU closed its control socket"))
    this.socket.write(`${JSON.stringify({ execute: command, ...(args === undefined ? {} : { arguments: args }) })}\n`)
    return this.settled(command)
  }

  /** Calls the listener for every later event, until the returned function is called. */
  listen(listener: (event: QmpEvent) => void): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }

  /** Resolves with the first later event that fits. Call it before the command that causes the event. */
  next(fits: (event: QmpEvent) => boolean, timeoutMs: number): Promise<QmpEvent> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer)
        this.listeners.delete(listener)
      }
      const listener = (event: QmpEvent) => {
        if (!fits(event)) return
        stop()
        resolve(event)
      }
      const timer = setTimeout(() => {
        stop()
        reject(new Error(`QEMU did not report in ${timeoutMs} ms`))
      }, timeoutMs)
      this.listeners.add(listener)
      void this.closed.then(() => {
        stop()
        reject(new Error("QEMU closed its control socket"))
      })
    })
  }

  close(): void {
    this.socket.destroy()
  }

  private settled(what: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      // Two half time-outs: if this process itself was frozen for the whole time, it reads the waiting answer before the second half is over.
      const half = this.answerTimeoutMs / 2
      let timer = setTimeout(() => {
        timer = setTimeout(() => {
          reject(new Error(`QEMU did not answer ${what} in ${this.answerTimeoutMs} ms`))
          this.isHung = true
          this.socket.destroy()
        }, half)
      }, half)
      this.waiting.push({
        resolve: (value) => {
          clearTimeout(timer)
          resolve(value)
        },
        reject: (error) => {
          clearTimeout(timer)
          reject(error)
        }
      })
    })
  }

  private receive(text: string): void {
    this.text += text
    const lines = this.text.split("\n")
    this.text = lines.pop() ?? ""
    if (this.text.length > LINE_MAX_CHARACTERS) this.socket.destroy()
    for (const line of lines) if (line.trim() !== "") this.dispatch(line)
  }

  private dispatch(line: string): void {
    let message: Message
    try {
      message = JSON.parse(line) as Message
    } catch {
      this.socket.destroy()
      return
    }
    if (typeof message.event === "string") {
      const data = typeof message.data === "object" && message.data !== null ? { ...message.data } : {}
      this.report({ event: message.event, data })
    } else if (message.error !== undefined) {
      this.waiting.shift()?.reject(new Error(`QEMU refused: ${String(message.error.desc).slice(0, 500)}`))
    } else {
      this.waiting.shift()?.resolve(message.return)
    }
  }

  private report(event: QmpEvent): void {
    if (event.event === "SHUTDOWN") this.shutdownReason = String(event.data["reason"])
    for (const listener of [...this.listeners]) listener(event)
  }
}
