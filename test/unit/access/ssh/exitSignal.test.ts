/** The signal that ended a command, as ssh2's own client receives it. */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import ssh2 from "ssh2"
import { expect, it } from "vitest"
import { signalOf, tellSignal } from "../../../../src/access/ssh/exitSignal.ts"
import { sshKeyPair } from "../../../support/sshKeyPair.ts"

const ends = [
  ["SIGTERM", "SIGTERM"],
  ["SIGKILL", "SIGKILL"],
  ["SIGRTMIN", "SIGRTMIN@ATOLL"],
  ["SIGRTMIN+6", "SIGRTMIN+6@ATOLL"],
  ["SIGRTMIN+30", "SIGRTMIN+30@ATOLL"],
  ["SIG33", "SIG33@ATOLL"],
  ["SIGXCPU", "SIGXCPU@ATOLL"],
  ["SIGNONSENSE", 255]
] as const

it("an exit signal has the RFC's name where it lists one, and else one at Atoll's domain", async () => {
  const { private: hostKey } = sshKeyPair()
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
    connection.on("authentication", (context) => context.accept())
    connection.on("session", (accept) =>
      accept().on("exec", (take, _reject, { command }) => {
        const channel = take()
        tellSignal(channel, command)
        channel.end()
      })
    )
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const client = new ssh2.Client()
  client.connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port, username: "u", password: "p" })
  await once(client, "ready")
  for (const [signal, told] of ends) {
    const ended = await new Promise((resolve, reject) =>
      client.exec(signal, (error, channel) => {
        if (error) return reject(error)
        channel.once("exit", (code: number | null, name: string) => resolve(code ?? name)).resume()
      })
    )
    expect(ended, signal).toBe(told)
  }
  client.end()
  server.close()
}, 10_000)

it("a signal that a client sends is read by the same names", () => {
  expect(["TERM", "SIGTERM", "RTMIN+6@ATOLL"].map(signalOf)).toEqual(["SIGTERM", "SIGTERM", "SIGRTMIN+6"])
})
