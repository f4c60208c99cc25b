/** One port of this machine before several services: each connection goes to the next of them. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { Effect } from "effect"

export interface ServiceAddress {
  readonly host: string
  readonly port: number
}

/** Its port is known before the services are; it accepts no connection until it has some. */
export const balancer = Effect.map(
  Effect.acquireRelease(
    Effect.promise(async () => {
      let services: ReadonlyArray<ServiceAddress> = []
      let turn = 0
      const open = new Set<Socket>()
      const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
        if (services.length === 0) return void client.destroy()
        const service = connect({ ...services[turn++ % services.length]!, allowHalfOpen: true, noDelay: true })
        client.pipe(service).pipe(client)
        for (const [one, other] of [
          [client, service],
          [service, client]
        ] as const) {
          open.add(one)
          one.on("error", () => other.destroy())
          one.on("close", () => open.delete(one))
        }
      }).listen(0, "127.0.0.1")
      await once(server, "listening")
      const lead = (to: ReadonlyArray<ServiceAddress>) => {
        services = to
      }
      return { server, open, lead }
    }),
    ({ server, open }) =>
      Effect.sync(() => {
        server.close()
        for (const socket of open) socket.destroy()
      })
  ),
  ({ server, lead }) => ({ port: (server.address() as { readonly port: number }).port, lead })
)
