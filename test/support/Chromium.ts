/** A real Chromium without a window, driven over the DevTools protocol. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect } from "effect"
import { WebSocket } from "ws"

interface Answer {
  readonly id?: number
  readonly result?: {
    readonly result?: { readonly value?: unknown }
    readonly sessionId?: string
    readonly targetId?: string
  }
  readonly error?: { readonly message: string }
}

export class Chromium {
  readonly #socket: WebSocket
  readonly #child: ChildProcess
  readonly #profile: string
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #next = 1

  private constructor(child: ChildProcess, socket: WebSocket, profile: string) {
    this.#child = child
    this.#socket = socket
    this.#profile = profile
    socket.on("message", (data) => {
      const answer = JSON.parse(String(data)) as Answer
      if (answer.id !== undefined) this.#waiting.get(answer.id)?.(answer)
    })
  }

  static readonly scoped = Effect.acquireRelease(
    Effect.promise(() => Chromium.#start()),
    (browser) => Effect.promise(() => browser.#end())
  )

  static async #start(): Promise<Chromium> {
    const profile = mkdtempSync(join(tmpdir(), "atoll-chromium-"))
    const child = spawn(
      "chromium",
      [
        ...["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"],
        ...["--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"]
      ],
      { stdio: ["ignore", "ignore", "pipe"] }
    )
    for await (const line of createInterface({ input: child.stderr! })) {
      const address = /DevTools listening on (ws:\S+)/.exec(line)?.[1]
      if (address === undefined) continue
      child.stderr!.resume()
      const socket = new WebSocket(address)
      await once(socket, "open")
      return new Chromium(child, socket, profile)
    }
    throw new Error("Chromium ended before it listened")
  }

  async #send(method: string, params: object, sessionId?: string): Promise<NonNullable<Answer["result"]>> {
    const id = this.#next++
    const answer = await new Promise<Answer>((resolve) => {
      this.#waiting.set(id, resolve)
      this.#socket.send(JSON.stringify({ id, method, params, sessionId }))
    })
    this.#waiting.delete(id)
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result ?? {}
  }

  /** Opens a page; the result evaluates an expression in it. */
  async open(url: string): Promise<(expression: string) => Promise<unknown>> {
    const { targetId } = await this.#send("Target.createTarget", { url })
    const { sessionId } = await this.#send("Target.attachToTarget", { targetId, flatten: true })
    return async (expression) => {
      const { result } = await this.#send(
        "Runtime.evaluate",
        { expression, awaitPromise: true, returnByValue: true },
        sessionId
      )
      return result?.value
    }
  }

  async #end(): Promise<void> {
    this.#socket.terminate()
    const gone = once(this.#child, "exit")
    this.#child.kill("SIGKILL")
    await gone
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 10 })
  }
}
