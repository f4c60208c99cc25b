/** The actual TCP port of the listener, set once it listens, because ATOLL_PORT may be 0. */
import { Context, Effect, Layer } from "effect"
import { Settings } from "../../Config.ts"

export class PublicPort extends Context.Service<
  PublicPort,
  {
    readonly current: () => number
    readonly set: (port: number) => void
  }
>()("atoll/access/gateway/PublicPort") {
  static readonly layer = Layer.effect(
    PublicPort,
    Effect.map(Settings, ({ port }) => {
      let current = port
      return PublicPort.of({
        current: () => current,
        set: (port) => {
          current = port
        }
      })
    })
  )
}
