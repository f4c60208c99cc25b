/**
 * One process's link to the database, which a test may cut. Statements that were sent before are executed; their
 * answers are lost.
 */
import { once } from "node:events"
import { mkdirSync } from "node:fs"
import { connect, createServer, type Server, type Socket } from "node:net"
import { join } from "node:path"

const socketName = ".s.PGSQL.5432"

export class DatabaseWire {
  /** The folder of its socket, through which the process reaches the database. */
  readonly folder: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isCut = false

  private constructor(folder: string, realFolder: string) {
    this.folder = folder
    this.#server = createServer((client) => {
      if (this.#isCut) return void client.destroy()
      const server = connect(join(realFolder, socketName))
      for (const [from, to] of [
        [client, server],
        [server, client]
      ] as const) {
        this.#sockets.add(from)
        from.on("error", () => {})
        from.on("close", () => {
          this.#sockets.delete(from)
          to.destroy()
        })
        from.pipe(to)
      }
    })
  }

  static async open(folder: string, realFolder: string): Promise<DatabaseWire> {
    mkdirSync(folder)
    const wire = new DatabaseWire(folder, realFolder)
    wire.#server.listen(join(folder, socketName))
    await once(wire.#server, "listening")
    return wire
  }

  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  mend(): void {
    this.#isCut = false
  }

  close(): void {
    this.cut()
    this.#server.close()
  }
}
