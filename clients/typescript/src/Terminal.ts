/** A login shell on a terminal in a Sandbox. It lives as long as its connection. */
import { ConnectionLost, isRecord, UnreadableAnswer } from "./errors.ts"
import type { Transport } from "./http/Transport.ts"
import type { MessageSocket, SocketEnd } from "./socket/MessageSocket.ts"

/** Characters, 1 to 1000 each. */
export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

export interface TerminalOptions extends Partial<TerminalSize> {
  /** Ends the opening, and later the terminal with its shell. */
  readonly signal?: AbortSignal | undefined
}

export interface TerminalExit {
  /** Null when a signal ended the shell. */
  readonly exitCode: number | null
  /** `SIGTERM` spelling. */
  readonly signal: string | null
}

const protocol = "atoll.terminal"
/** Of one frame. */
const inputMaxBytes = 64 * 1024
/** Above this much unread output the shell waits, until it has fallen to `unreadLowBytes`. */
const unreadMaxBytes = 256 * 1024
const unreadLowBytes = 64 * 1024

type Ending =
  | { readonly type: "exited"; readonly exit: TerminalExit }
  /** Closed by this client. */
  | { readonly type: "closed" }
  | { readonly type: "failed"; readonly error: unknown }

const exitOf = (text: string): TerminalExit => {
  const told: unknown = JSON.parse(text)
  if (!isRecord(told) || told["type"] !== "exit")
    throw new UnreadableAnswer(`The terminal said what none says: ${text}`)
  return { exitCode: told["exitCode"] as number | null, signal: told["signal"] as string | null }
}

export class Terminal implements AsyncDisposable {
  #socket: MessageSocket | null = null
  #ending: Ending | null = null
  readonly #unread: Array<Uint8Array> = []
  #unreadBytes = 0
  #isHeldBack = false
  /** Readers that wait for output, or for the end. */
  #look: () => void = () => {}
  readonly #ended: Promise<Ending>
  #end: (ending: Ending) => void = () => {}
  readonly #gone: Promise<void>
  #isGone: () => void = () => {}

  private constructor() {
    this.#ended = new Promise((resolve) => {
      this.#end = (ending) => {
        this.#ending ??= ending
        this.#look()
        resolve(this.#ending)
      }
    })
    this.#gone = new Promise((resolve) => {
      this.#isGone = resolve
    })
  }

  static async open(
    transport: Transport,
    sandboxId: string,
    { columns, rows, signal }: TerminalOptions
  ): Promise<Terminal> {
    const terminal = new Terminal()
    const socket = await transport.connect(
      {
        path: `/api/v2/sandboxes/${encodeURIComponent(sandboxId)}/terminal`,
        query: { columns, rows },
        protocol,
        signal
      },
      {
        bytes: (bytes) => terminal.#came(bytes),
        text: (text) => terminal.#told(text),
        closed: (end) => terminal.#closed(end)
      }
    )
    terminal.#socket = socket
    const abort = () => {
      terminal.#end({ type: "failed", error: signal!.reason })
      socket.destroy()
    }
    if (signal?.aborted) abort()
    signal?.addEventListener("abort", abort, { once: true })
    void terminal.#gone.then(() => signal?.removeEventListener("abort", abort))
    socket.resume()
    return terminal
  }

  #came(bytes: Uint8Array): void {
    this.#unread.push(bytes)
    this.#unreadBytes += bytes.length
    if (!this.#isHeldBack && this.#unreadBytes > unreadMaxBytes) {
      this.#isHeldBack = true
      this.#steer({ type: "pause" })
    }
    this.#look()
  }

  #told(text: string): void {
    try {
      this.#end({ type: "exited", exit: exitOf(text) })
    } catch (error) {
      this.#end({ type: "failed", error })
      this.#socket?.destroy()
    }
  }

  #closed(end: SocketEnd): void {
    this.#end({
      type: "failed",
      error: new ConnectionLost("The terminal's connection is lost, and its shell has ended with it", end)
    })
    this.#isGone()
  }

  #steer(control: { readonly type: string }): void {
    this.#socket?.send(JSON.stringify(control))
  }

  /**
   * The terminal's output as it comes; characters may be cut between two pieces. A reader that pauses holds the shell
   * back, and may go on later. Returns how the shell ended, null if this client closed it; fails with ConnectionLost.
   * For one reader.
   */
  async *output(): AsyncGenerator<Uint8Array, TerminalExit | null, undefined> {
    while (true) {
      const bytes = this.#unread.shift()
      if (bytes === undefined) {
        if (this.#ending !== null) return this.exited
        await new Promise<void>((resolve) => {
          this.#look = resolve
        })
        continue
      }
      this.#unreadBytes -= bytes.length
      if (this.#isHeldBack && this.#unreadBytes <= unreadLowBytes) {
        this.#isHeldBack = false
        this.#steer({ type: "resume" })
      }
      yield bytes
    }
  }

  /**
   * How the shell ended, null if this client closed the terminal. Fails with ConnectionLost. Without a reader of the
   * output it may not end.
   */
  get exited(): Promise<TerminalExit | null> {
    return this.#ended.then((ending) => {
      if (ending.type === "failed") throw ending.error
      return ending.type === "exited" ? ending.exit : null
    })
  }

  /**
   * Sends input. Returns when there is room for more. Fails with ConnectionLost; after the shell's end it does nothing.
   */
  async write(input: string | Uint8Array): Promise<void> {
    const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input
    for (let at = 0; at < bytes.length && this.#ending === null; at += inputMaxBytes) {
      const piece = bytes.subarray(at, at + inputMaxBytes)
      await Promise.race([new Promise<void>((taken) => this.#socket?.send(piece, taken)), this.#ended])
    }
    if (this.#ending?.type === "failed") throw this.#ending.error
  }

  resize({ columns, rows }: TerminalSize): void {
    if (this.#ending === null) this.#socket?.send(JSON.stringify({ type: "resize", columns, rows }))
  }

  /** Ends the shell and its processes. Returns when the connection is closed. */
  async close(): Promise<void> {
    this.#end({ type: "closed" })
    this.#socket?.close()
    await this.#gone
  }

  /** `await using`: closed at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
