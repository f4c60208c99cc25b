/** Connections of a fleet that shares a secret. */
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { chmodSync, renameSync, writeFileSync } from "node:fs"
import { connect as connectPlain, type Socket } from "node:net"
import { join } from "node:path"
import { connect, createServer } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SettingsUnusable } from "../../../src/Config.ts"
import { PeerUnusable } from "../../../src/peer/PeerSockets.ts"
import { echo, line, listening, logged, loopback, peer, refusal, until } from "../../support/peer/TestPeers.ts"
import { testFolder } from "../../support/testFolder.ts"

const newSecret = () => randomBytes(32).toString("hex")

/** Like Kubernetes: replaces the whole file in one step. */
const write = (path: string, ...secrets: ReadonlyArray<string>): void => {
  writeFileSync(`${path}.new`, secrets.map((secret) => `${secret}\n`).join(""), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

const file = (...secrets: ReadonlyArray<string>) =>
  Effect.map(testFolder, (folder) => {
    const path = join(folder, "secret")
    write(path, ...secrets)
    return path
  })

const withFile = (path: string) => peer({ ATOLL_FLEET_SECRET_FILE: path })

const withSecrets = (...secrets: ReadonlyArray<string>) => Effect.flatMap(file(...secrets), withFile)

const started = (path: string) => withFile(path).pipe(Effect.scoped, Effect.flip)

/** All bytes that the other end sends until it closes. */
const answerTo = (socket: Socket): Promise<Buffer> =>
  new Promise((resolve) => {
    const chunks: Array<Buffer> = []
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    socket.on("error", () => {})
    socket.once("close", () => resolve(Buffer.concat(chunks)))
  })

describe("a fleet that shares a secret", () => {
  it.live("opens its protocols to peers with the secret, each by its name", () =>
    Effect.gen(function* () {
      const secret = newSecret()
      const host = yield* withSecrets(secret)
      const service = yield* withSecrets(secret)
      const { port } = yield* listening(host, ["atoll-host/1", "atoll-agent/1"])
      assert.isNull(yield* refusal(service, port, "atoll-host/1"))
      assert.isNull(yield* refusal(service, port, "atoll-agent/1"))
      assert.include(yield* refusal(service, port, "atoll-join/1"), "what is there does not speak atoll-join/1")
    })
  )

  it.live("lets any number of writes wait for a connection, without a listener warning", () =>
    Effect.gen(function* () {
      const secret = newSecret()
      const host = yield* withSecrets(secret)
      const service = yield* withSecrets(secret)
      const { port, met } = yield* listening(host, ["atoll-actors/1"])
      const socket = yield* service.connect({ host: loopback, port }, "atoll-actors/1")
      yield* Effect.promise(() => line(socket))
      const warnings: Array<Error> = []
      const warned = (warning: Error) => void warnings.push(warning)
      process.on("warning", warned)
      for (const end of [socket, met[0]!]) for (let waits = 0; waits < 20; waits++) end.once("drain", () => {})
      yield* Effect.sleep(0)
      process.off("warning", warned)
      assert.deepStrictEqual(warnings, [])
    })
  )

  it.live("opens no protocol to other peers, on either side, and the report does not contain the secret", () =>
    Effect.gen(function* () {
      const [ours, theirs] = [newSecret(), newSecret()]
      const host = yield* withSecrets(ours)
      const stranger = yield* withSecrets(theirs)
      const { port, met } = yield* listening(host, ["atoll-host/1"])
      const said = yield* refusal(stranger, port, "atoll-host/1")
      assert.include(said, `No connection to ${loopback}:${port}: nothing is there which has this one's secret`)
      for (const secret of [ours, theirs]) assert.notInclude(said! + logged.join(" "), secret)
      assert.strictEqual(met.length, 0)

      // A peer that takes any name of a key, and does not have the key.
      const liar = createServer({
        ciphers: "TLS_AES_128_GCM_SHA256",
        minVersion: "TLSv1.3",
        ALPNProtocols: ["atoll-host/1"],
        pskCallback: () => randomBytes(32)
      })
      liar.on("tlsClientError", () => {})
      liar.listen(0, loopback)
      yield* Effect.promise(() => once(liar, "listening"))
      const { port: liarPort } = liar.address() as { port: number }
      assert.include(yield* refusal(host, liarPort, "atoll-host/1"), "nothing is there which has this one's secret")
      liar.close()
    })
  )

  it.live("reports an address where no peer listens", () =>
    Effect.gen(function* () {
      const service = yield* withSecrets(newSecret())
      const port = yield* Effect.scoped(Effect.map(listening(service, ["atoll-join/1"]), ({ port }) => port))
      assert.include(yield* refusal(service, port, "atoll-join/1"), "nothing listens there")
      const taken = yield* listening(service, ["atoll-join/1"])
      const fault = yield* Effect.flip(service.listen({ host: loopback, port: taken.port }, {}))
      assert.instanceOf(fault, PeerUnusable)
      assert.include(fault.message, `Port ${taken.port} of ${loopback} cannot be listened on: it is in use`)
    })
  )

  it.live("changes to another secret without a stop: it accepts both for a while, and open connections stay", () =>
    Effect.gen(function* () {
      const [before, after] = [newSecret(), newSecret()]
      const path = yield* file(before)
      const host = yield* withFile(path)
      const { port } = yield* listening(host, ["atoll-host/1"])
      const withBefore = yield* withSecrets(before)
      const withAfter = yield* withSecrets(after)
      const accepts = (service: typeof host) =>
        Effect.map(refusal(service, port, "atoll-host/1"), (said) => said === null)
      const open = yield* withBefore.connect({ host: loopback, port }, "atoll-host/1")
      assert.strictEqual(yield* Effect.promise(() => line(open)), "atoll-host/1")
      assert.isFalse(yield* accepts(withAfter))

      write(path, before, after)
      yield* until(accepts(withAfter), "the second secret is accepted")
      assert.isTrue(yield* accepts(withBefore))

      // It connects with its first secret.
      const { port: toAfter } = yield* listening(withAfter, ["atoll-join/1"])
      assert.isNotNull(yield* refusal(host, toAfter, "atoll-join/1"))
      write(path, after)
      yield* until(
        Effect.map(accepts(withBefore), (is) => !is),
        "the first secret is refused"
      )
      assert.isTrue(yield* accepts(withAfter))
      assert.isNull(yield* refusal(host, toAfter, "atoll-join/1"))
      assert.strictEqual(yield* Effect.promise(() => echo(open, "still here")), "still here")
    })
  )

  it.live("keeps its secret when the file becomes unusable, and logs so", () =>
    Effect.gen(function* () {
      const secret = newSecret()
      const path = yield* file(secret)
      const host = yield* withFile(path)
      const service = yield* withSecrets(secret)
      const { port } = yield* listening(host, ["atoll-host/1"])
      write(path, "too short")
      yield* until(
        Effect.sync(() => logged.some((it) => it.includes(path) && it.includes("goes on being used"))),
        "the log names it"
      )
      assert.isNull(yield* refusal(service, port, "atoll-host/1"))
      assert.notInclude(logged.join(" "), "too short")
    })
  )

  it.live("refuses a missing or short secret, and one that others can read", () =>
    Effect.gen(function* () {
      const short = yield* started(yield* file(newSecret(), "x".repeat(31)))
      assert.include(short.message, "Secret 2 in ATOLL_FLEET_SECRET_FILE")
      assert.include(short.message, "has fewer than 32 characters")
      assert.include((yield* started(yield* file())).message, "holds no secret")
      assert.include((yield* started("/nowhere/secret")).message, "there is no such file")
      const open = yield* file(newSecret())
      chmodSync(open, 0o644)
      assert.include((yield* started(open)).message, "is open to every user of this machine")
      const none = yield* peer({ ATOLL_ROLE: "host" }).pipe(Effect.scoped, Effect.flip)
      assert.instanceOf(none, SettingsUnusable)
      assert.include(none.message, "ATOLL_ROLE=host needs ATOLL_FLEET_SECRET_FILE")
    })
  )

  it.live.skipIf(process.getuid?.() !== 0)("hides the file from another user of the machine", () =>
    Effect.gen(function* () {
      const path = yield* file(newSecret())
      yield* withFile(path)
      const asNobody = { uid: 65_534, gid: 65_534, stdio: "pipe" } as const
      assert.throws(() => execFileSync("cat", [path], asNobody), /Permission denied/)
    })
  )

  it.live("does not resume a TLS session, whose secret may be withdrawn by now", () =>
    Effect.gen(function* () {
      const secret = newSecret()
      const host = yield* withSecrets(secret)
      const service = yield* withSecrets(secret)
      const { port } = yield* listening(host, ["atoll-host/1"])
      const socket = yield* service.connect({ host: loopback, port }, "atoll-host/1")
      assert.strictEqual(yield* Effect.promise(() => line(socket)), "atoll-host/1")
      const session = socket.getSession()!
      const again = connect({
        host: loopback,
        port,
        session,
        ciphers: "TLS_AES_128_GCM_SHA256",
        minVersion: "TLSv1.3",
        ALPNProtocols: ["atoll-host/1"],
        pskCallback: () => ({ psk: randomBytes(32), identity: "atoll-0" }),
        checkServerIdentity: () => undefined
      })
      let isIn = false
      again.once("secureConnect", () => {
        isIn = true
        again.destroy()
      })
      yield* Effect.promise(() => answerTo(again))
      assert.isFalse(isIn)
    })
  )

  it.live(
    "cuts a client that does not authenticate in time, however much it sends, and serves the others meanwhile",
    () =>
      Effect.gen(function* () {
        const secret = newSecret()
        const host = yield* withSecrets(secret)
        const service = yield* withSecrets(secret)
        const { port, met } = yield* listening(host, ["atoll-host/1"])
        const plain = () => connectPlain({ host: loopback, port })
        const garbage = plain()
        const answer = answerTo(garbage)
        garbage.write(`GET / HTTP/1.1\r\nhost: x\r\n\r\n${"x".repeat(100_000)}`)
        // An alert of TLS at most: 21, the version, two bytes of length, "fatal", and the reason.
        assert.isAtMost((yield* Effect.promise(() => answer)).length, 7)

        // The beginning of a record of 16 KiB, a byte at a time.
        const slow = plain()
        const end = answerTo(slow)
        slow.write(Buffer.from([22, 3, 1, 0x40, 0]))
        const drip = setInterval(() => slow.write(Buffer.of(1)), 100)
        const silent = Array.from({ length: 300 }, plain)
        const began = performance.now()
        const ends = Promise.all(silent.map((socket) => answerTo(socket).then(() => performance.now() - began)))
        yield* Effect.promise(() => Promise.all(silent.map((socket) => once(socket, "connect"))))
        assert.isNull(yield* refusal(service, port, "atoll-host/1"))
        const [[...lives]] = yield* Effect.promise(() => Promise.all([ends, end]))
        // The oldest of too many, immediately; the newest when their time is over.
        assert.isBelow(lives[0]!, 4900)
        assert.isAtLeast(lives.at(-1)!, 4900)
        clearInterval(drip)
        assert.strictEqual(met.length, 1)
      })
  )

  it.live("ends with its scope: the port, open connections, and handshakes", () =>
    Effect.gen(function* () {
      const secret = newSecret()
      const service = yield* withSecrets(secret)
      const ends = yield* Effect.scoped(
        Effect.gen(function* () {
          const { port } = yield* listening(service, ["atoll-join/1"])
          const open = yield* service.connect({ host: loopback, port }, "atoll-join/1")
          assert.strictEqual(yield* Effect.promise(() => line(open)), "atoll-join/1")
          const half = connectPlain({ host: loopback, port })
          yield* Effect.promise(() => once(half, "connect"))
          return [once(open, "close"), answerTo(half)]
        })
      )
      yield* Effect.promise(() => Promise.all(ends))
    })
  )
})
