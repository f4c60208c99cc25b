/** How long connections take from their beginning to the first byte that comes. Each ends before the next begins; the end does not count. */
import { connect } from "node:net"

/** One connection; `first` is called for each of its bytes, or pieces. */
type Connection = (first: () => void) => Promise<void>

/** Milliseconds of each. */
export const firstBytes = async (times: number, connection: Connection): Promise<ReadonlyArray<number>> => {
  const took: Array<number> = []
  for (let index = 0; index < times; index++) {
    const began = performance.now()
    await connection(() => {
      took[index] ??= performance.now() - began
    })
    if (took[index] === undefined) throw new Error("a connection ended without a byte")
  }
  return took
}

/** Of the program of `InsideProgram.ts`, over plain TCP on the loopback. */
export const plainFirstByte =
  (port: number): Connection =>
  async (first) => {
    const socket = connect(port, "127.0.0.1")
    socket.write("1\n")
    for await (const _ of socket) first()
  }
