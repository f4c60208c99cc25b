/**
 * One shell over a WebSocket, from its ticket to its end.
 *
 * Browsers buffer incoming messages without limit, so the shell is paused while the screen is behind.
 *
 * @source schemas/Terminal.ts
 */
import type { TerminalControl, TerminalExit } from "../../../../../schemas/Terminal.ts"
import { ApiFault, ask, get, queryOf } from "../../api.ts"

export interface Size {
  readonly columns: number
  readonly rows: number
}

export type Ended =
  | { readonly how: "exited"; readonly exitCode: number | null; readonly signal: string | null }
  /** Closed by the service, with a sentence, or by something in between, without. */
  | { readonly how: "closed"; readonly code: number; readonly reason: string }
  | { readonly how: "refused"; readonly fault: unknown }

export interface Told {
  readonly opened: () => void
  /** Call `shown` once the bytes are on the screen. */
  readonly output: (bytes: Uint8Array, shown: () => void) => void
  /** Called once, as the last call. */
  readonly ended: (how: Ended) => void
}

const behindMaxBytes = 256 * 1024
const behindAgainBytes = 64 * 1024
/** The service's limit. */
const inputMaxBytes = 64 * 1024

const noWebSocket = () =>
  new ApiFault(
    null,
    "NO_WEBSOCKET",
    "The service would open a terminal, but the WebSocket connection failed: a proxy or firewall may block WebSockets.",
    null
  )

/** Browsers hide the reason of a failed handshake, so the same request is sent without one. */
const reasonOf = async (path: string): Promise<unknown> => {
  try {
    await get(path)
    return noWebSocket()
  } catch (fault) {
    return fault instanceof ApiFault && fault.code === "INVALID_REQUEST" ? noWebSocket() : fault
  }
}

export class Connection {
  readonly #path: string
  readonly #told: Told
  #socket: WebSocket | null = null
  #exit: TerminalExit | null = null
  #behindBytes = 0
  #isPaused = false
  #isOver = false

  /** @param path The endpoint's path. */
  constructor(path: string, told: Told) {
    this.#path = path
    this.#told = told
  }

  async open({ columns, rows }: Size): Promise<void> {
    const path = `${this.#path}${queryOf({ columns, rows })}`
    try {
      const { ticket } = await ask<{ readonly ticket: string }>("POST", "/console/api/tickets")
      if (this.#isOver) return
      const url = new URL(path, location.origin.replace(/^http/, "ws"))
      this.#follow(new WebSocket(url, ["atoll.terminal", ticket]), path)
    } catch (fault) {
      this.#end({ how: "refused", fault })
    }
  }

  send(bytes: Uint8Array): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return
    for (let at = 0; at < bytes.length; at += inputMaxBytes) this.#socket.send(bytes.slice(at, at + inputMaxBytes))
  }

  resize({ columns, rows }: Size): void {
    this.#tell({ type: "resize", columns, rows })
  }

  /** Ends the shell; no further calls follow. */
  close(): void {
    this.#isOver = true
    this.#socket?.close(1000)
  }

  #tell(control: TerminalControl): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(control))
  }

  #follow(socket: WebSocket, path: string): void {
    this.#socket = socket
    socket.binaryType = "arraybuffer"
    let wasOpen = false
    socket.addEventListener("open", () => {
      wasOpen = true
      if (!this.#isOver) this.#told.opened()
    })
    socket.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (this.#isOver) return
      if (typeof data === "string") this.#exit = JSON.parse(data) as TerminalExit
      else this.#take(new Uint8Array(data))
    })
    socket.addEventListener("close", async ({ code, reason }) => {
      if (this.#isOver) return
      if (!wasOpen) this.#end({ how: "refused", fault: await reasonOf(path) })
      else if (this.#exit === null) this.#end({ how: "closed", code, reason })
      else this.#end({ how: "exited", exitCode: this.#exit.exitCode, signal: this.#exit.signal })
    })
  }

  #take(bytes: Uint8Array): void {
    this.#behindBytes += bytes.length
    if (!this.#isPaused && this.#behindBytes > behindMaxBytes) {
      this.#isPaused = true
      this.#tell({ type: "pause" })
    }
    this.#told.output(bytes, () => {
      this.#behindBytes -= bytes.length
      if (!this.#isPaused || this.#behindBytes > behindAgainBytes) return
      this.#isPaused = false
      this.#tell({ type: "resume" })
    })
  }

  #end(how: Ended): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#told.ended(how)
  }
}
