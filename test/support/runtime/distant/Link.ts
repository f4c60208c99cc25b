/** A link to a port of this machine that can be cut, and counts its bytes. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { Effect } from "effect"

export class Link {
  /** Towards the client. */
  bytesBack = 0
  readonly port: number
  readonly #pairs: ReadonlySet<Socket>
  readonly #state: { isCut: boolean }

  private constructor(port: number, pairs: ReadonlySet<Socket>, state: { isCut: boolean }) {
    this.port = port
    this.#pairs = pairs
    this.#state = state
  }

  static readonly to = (port: number) =>
    Effect.acquireRelease(
      Effect.callback<{ link: Link; end: () => void }>((resume) => {
        const pairs = new Set<Socket>()
        const state = { isCut: false }
        const server = createServer({ allowHalfOpen: true }, (near) => {
          if (state.isCut) return void near.resetAndDestroy()
          const far = connect({ host: "127.0.0.1", port, allowHalfOpen: true })
          far.on("data", (chunk: Buffer) => {
            link.bytesBack += chunk.length
          })
          near.pipe(far).pipe(near)
          for (const [one, other] of [
            [near, far],
            [far, near]
          ] as const) {
            pairs.add(one)
            one
              .on("error", () => {})
              .on("close", () => {
                pairs.delete(one)
                other.destroy()
              })
          }
        })
        let link: Link
        server.listen(0, "127.0.0.1", () => {
          link = new Link((server.address() as AddressInfo).port, pairs, state)
          const end = () => {
            server.close()
            link.cut()
          }
          resume(Effect.succeed({ link, end }))
        })
      }),
      ({ end }) => Effect.sync(end)
    ).pipe(Effect.map(({ link }) => link))

  /** All its connections break, and none comes through, until `mend`. */
  cut(): void {
    this.#state.isCut = true
    for (const socket of [...this.#pairs]) socket.resetAndDestroy()
  }

  mend(): void {
    this.#state.isCut = false
  }
}
