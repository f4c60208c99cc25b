/** Terminals, tunnels and forwarded ports of the TypeScript library, against the real service with real programs inside. */

import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { buffer } from "node:stream/consumers"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Transport } from "../../../../clients/typescript/src/http/Transport.ts"
import { Atoll, AtollError, ConnectionLost } from "../../../../clients/typescript/src/index.ts"
import { globalSocket } from "../../../../clients/typescript/src/socket/globalSocket.ts"
import { HandshakeRefused } from "../../../../clients/typescript/src/socket/MessageSocket.ts"
import { Terminal } from "../../../../clients/typescript/src/Terminal.ts"
import { type CuttingProxy, cuttingProxy } from "../../../support/clients/CuttingProxy.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { untilFound } from "../../../support/until.ts"

const environment = { ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2), ATOLL_SERVICE_ACCESS: "on" }

type Handle = Awaited<ReturnType<Atoll["sandboxes"]["create"]>>

const failed = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    await call
  } catch (thrown) {
    return thrown
  }
  throw new Error("It did not fail.")
}

const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

/** A Sandbox, over a proxy that lets everything through until the test cuts it. */
const withSandbox = (use: (sandbox: Handle, proxy: CuttingProxy, atoll: Atoll) => Promise<void>) =>
  Effect.gen(function* () {
    const served = yield* ServedAtoll
    const proxy = yield* cuttingProxy(20261122)
    proxy.to = served.port
    const atoll = new Atoll({ apiKey: served.key, url: `http://127.0.0.1:${proxy.port}` })
    yield* Effect.promise(async () => {
      await using sandbox = await atoll.sandboxes.create()
      await use(sandbox, proxy, atoll)
    })
  })

/** Reads on until it shows something. */
const shows = async (output: AsyncGenerator<Uint8Array, unknown>, wanted: RegExp): Promise<string> => {
  const decoder = new TextDecoder()
  let shown = ""
  while (!wanted.test(shown)) {
    const { done, value } = await output.next()
    if (done === true) throw new Error(`It ended before it showed ${wanted}: ${shown}`)
    shown += decoder.decode(value, { stream: true })
  }
  return shown
}

const restOf = async (output: ReturnType<Terminal["output"]>) => {
  while (true) {
    const next = await output.next()
    if (next.done === true) return next.value
  }
}

const programs = async (sandbox: Handle): Promise<ReadonlyArray<string>> =>
  (await sandbox.processes()).map(({ argv }) => argv.join(" "))

const gone = async (sandbox: Handle, program: string): Promise<void> => {
  while ((await programs(sandbox)).includes(program)) await new Promise((resolve) => setTimeout(resolve, 50))
}

/** Starts a TCP server of Node in the Sandbox on port 4000; `carry` is the source of what it does with each connection. */
const serving = (sandbox: Handle, carry: string) =>
  sandbox.start([
    "node",
    "-e",
    `require("net").createServer({ allowHalfOpen: true }, (socket) => {
       socket.on("error", () => {});
       (${carry})(socket)
     }).listen(4000, "127.0.0.1")`
  ])

/** Once something listens. */
const tunnelTo = async (sandbox: Handle) => {
  while (true) {
    try {
      return await sandbox.tunnel(4000)
    } catch (thrown) {
      if (!(thrown instanceof AtollError) || !thrown.is("SANDBOX_UNAVAILABLE")) throw thrown
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

describe.skipIf(skipped(unusable))("connections of the TypeScript library", () => {
  layer(ServedAtoll.layer(freshDriver(environment), environment).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("a terminal shows, is typed into, is resized, and says how its shell ended", () =>
      withSandbox(async (sandbox) => {
        await using terminal = await sandbox.terminal({ columns: 91, rows: 23 })
        const output = terminal.output()
        await terminal.write("stty size\n")
        await shows(output, /23 91\r\n/)
        terminal.resize({ columns: 120, rows: 40 })
        await terminal.write("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; echo res'ized'\n")
        await shows(output, /resized\r\n/)
        // The shell may take for itself what is typed before its program reads.
        await terminal.write("echo rea'dy'; cat\n")
        await shows(output, /ready\r\n/)
        await terminal.write("grüße\n")
        await shows(output, /grüße\r\ngrüße\r\n/)
        await terminal.write("\u0003")
        await shows(output, /\$ $/)
        await terminal.write(new TextEncoder().encode("seq 1 50000; exit 7\n"))
        const numbers = await shows(output, /\n50000\r\n/)
        assert.include(numbers, Array.from({ length: 50_000 }, (_, at) => at + 1).join("\r\n"))
        assert.deepStrictEqual(await restOf(output), { exitCode: 7, signal: null })
        assert.deepStrictEqual(await terminal.exited, { exitCode: 7, signal: null })
        await terminal.write("nobody reads this")
      })
    )

    it.effect("a terminal ends with its close, its signal and its connection, and its shell with it", () =>
      withSandbox(async (sandbox, proxy, atoll) => {
        const closed = await sandbox.terminal()
        await closed.write("sleep 600\n")
        await shows(closed.output(), /sleep 600/)
        await closed.close()
        assert.isNull(await restOf(closed.output()))
        assert.isNull(await closed.exited)
        await gone(sandbox, "sleep 600")

        const controller = new AbortController()
        const aborted = await sandbox.terminal({ signal: controller.signal })
        const reading = failed(restOf(aborted.output()))
        await aborted.write("sleep 601\n")
        controller.abort(new Error("enough"))
        assert.strictEqual(((await reading) as Error).message, "enough")
        assert.strictEqual(await failed(sandbox.terminal({ signal: controller.signal })), controller.signal.reason)
        await gone(sandbox, "sleep 601")

        const lost = await sandbox.terminal()
        const output = lost.output()
        await shows(output, /\$ /)
        proxy.cutAll()
        const error = await failed(restOf(output))
        assert.instanceOf(error, ConnectionLost)
        assert.deepInclude(error, { name: "ConnectionLost", closeCode: null, outcome: "unknown" })
        assert.strictEqual(await failed(lost.exited), error)
        assert.strictEqual(await failed(lost.write("more")), error)

        const missing = await failed((await atoll.sandboxes.get(sandbox.id)).terminal({ columns: 0 }))
        assert.isTrue(missing instanceof AtollError && missing.is("INVALID_REQUEST"), String(missing))

        const stopped = await sandbox.terminal()
        const ending = failed(restOf(stopped.output()))
        await sandbox.stop()
        const told = (await ending) as ConnectionLost
        assert.instanceOf(told, ConnectionLost)
        assert.strictEqual(told.closeCode, 1011)
        assert.match(told.message, /^The terminal's connection is lost, and its shell has ended with it: The Sandbox /)
        const refused = await failed(sandbox.terminal())
        assert.isTrue(refused instanceof AtollError && refused.is("SANDBOX_UNAVAILABLE"), String(refused))
      })
    )

    it.effect("a terminal goes over the WebSocket that browsers have, too, and learns why it may not", () =>
      Effect.gen(function* () {
        const served = yield* ServedAtoll
        const narrow = yield* Effect.promise(() => served.newKey(["sandbox:read"]))
        const sandboxId = yield* Effect.promise(() => served.newSandbox())
        const transport = (secret: string): Transport => {
          const connect: Transport["connect"] = ({ path, query, protocol }, listener) => {
            const url = new URL(path, `http://127.0.0.1:${served.port}`)
            url.searchParams.set("columns", String(query["columns"]))
            const ask = () => fetch(url, { headers: { authorization: `Bearer ${secret}` } })
            const { signal } = new AbortController()
            return globalSocket({ url, protocol, secret, userAgent: "", ask, signal }, listener)
          }
          return { connect } as Transport
        }
        yield* Effect.promise(async () => {
          const terminal = await Terminal.open(transport(served.key), sandboxId, { columns: 77 })
          const output = terminal.output()
          await terminal.write("stty size; seq 1 50000\n")
          const shown = await shows(output, /\n50000\r\n/)
          assert.include(shown, "24 77\r\n")
          assert.include(shown, Array.from({ length: 50_000 }, (_, at) => at + 1).join("\r\n"))
          await terminal.write("exit 7\n")
          assert.deepStrictEqual(await restOf(output), { exitCode: 7, signal: null })

          const closed = await Terminal.open(transport(served.key), sandboxId, { columns: 77 })
          await closed.close()
          assert.isNull(await closed.exited)

          const refused = await failed(Terminal.open(transport(narrow.secret), sandboxId, { columns: 77 }))
          assert.instanceOf(refused, HandshakeRefused)
          assert.strictEqual((refused as HandshakeRefused).answer.status, 403)
          const size = await failed(Terminal.open(transport(served.key), sandboxId, { columns: 0 }))
          assert.strictEqual((size as HandshakeRefused).answer.status, 400)
        })
      })
    )

    it.effect("a tunnel carries every byte both ways, ends one direction at a time, and is requested again", () =>
      withSandbox(async (sandbox) => {
        const nothing = await failed(sandbox.tunnel(4000))
        assert.isTrue(nothing instanceof AtollError && nothing.is("SANDBOX_UNAVAILABLE"), String(nothing))
        assert.match((nothing as Error).message, /Nothing in the Sandbox listens on port 4000/)

        // Says what it got, once that is whole, and gives as much back.
        const mirror = `(socket) => {
          const hash = require("crypto").createHash("sha256"), chunks = []
          socket.on("data", (chunk) => { hash.update(chunk); chunks.push(chunk) })
          socket.on("end", () => { socket.write(hash.digest("hex")); for (const chunk of chunks) socket.write(chunk); socket.end() })
        }`
        await serving(sandbox, mirror)
        await (await tunnelTo(sandbox)).destroy()
        const content = randomBytes(8 * 1024 ** 2 + 1)
        const carried = async () => {
          const tunnel = await sandbox.tunnel(4000)
          tunnel.end(content)
          const back = await buffer(tunnel)
          assert.strictEqual(back.subarray(0, 64).toString(), digest(content))
          assert.strictEqual(digest(back.subarray(64)), digest(content))
          if (!tunnel.closed) await once(tunnel, "close")
        }
        await Promise.all([carried(), carried()])
        // The capability that it has belongs to the boot before.
        await sandbox.stop()
        await sandbox.boot()
        await serving(sandbox, mirror)
        await (await tunnelTo(sandbox)).destroy()
        await carried()
      })
    )

    it.effect("a tunnel is held back by who does not read, and says that it was lost", () =>
      withSandbox(async (sandbox, proxy) => {
        await sandbox.files.write("go", "")
        // Reads nothing before it may.
        await serving(
          sandbox,
          `(socket) => {
             const fs = require("fs")
             fs.writeFileSync("met", "")
             socket.pause()
             let length = 0
             socket.on("data", (chunk) => { length += chunk.length })
             socket.on("end", () => socket.end(String(length)))
             const timer = setInterval(() => { if (fs.readFileSync("go", "utf8") === "go") { clearInterval(timer); socket.resume() } }, 50)
           }`
        )
        const tunnel = await tunnelTo(sandbox)
        const piece = randomBytes(1024 ** 2)
        const pieces = 96
        let taken = 0
        const writing = (async () => {
          for (let at = 0; at < pieces; at++) {
            await new Promise((resolve) => tunnel.write(piece, resolve))
            taken++
          }
          tunnel.end()
        })()
        // As long as it takes more.
        for (let before = -1; before !== taken; ) {
          before = taken
          await new Promise((resolve) => setTimeout(resolve, 500))
        }
        assert.isBelow(taken, pieces, "somebody keeps what nobody reads")
        await sandbox.files.write("go", "go")
        await writing
        assert.strictEqual((await buffer(tunnel)).toString(), String(pieces * piece.length))

        const lost = await tunnelTo(sandbox)
        lost.on("data", () => {})
        const error = once(lost, "error")
        proxy.cutAll()
        const [thrown] = await error
        assert.instanceOf(thrown, ConnectionLost)
        assert.strictEqual((thrown as Error).message, "The tunnel's connection is lost.")
      })
    )

    it.effect("a tunnel that was read to its end raises no error when its connection breaks", () =>
      withSandbox(async (sandbox, proxy) => {
        await serving(sandbox, `(socket) => socket.on("error", () => {}).end("all")`)
        const tunnel = await tunnelTo(sandbox)
        let text = ""
        for await (const piece of tunnel) text += piece
        assert.strictEqual(text, "all")
        // An error without a listener would end this process.
        proxy.cutAll()
        await untilFound(() => tunnel.closed)
        assert.isNull(tunnel.errored)
      })
    )

    it.effect("a forwarded port carries connections, says what could not be carried, and ends", () =>
      withSandbox(async (sandbox) => {
        await sandbox.start([
          "node",
          "-e",
          `require("http").createServer((request, answer) => {
             if (request.url === "/stay") return answer.write("here")
             request.pipe(answer)
           }).listen(4000, "127.0.0.1")`
        ])
        await (await tunnelTo(sandbox)).destroy()
        const errors: Array<Error> = []
        const forward = await sandbox.forward(4000, { onError: (error) => errors.push(error) })
        const url = `http://127.0.0.1:${forward.localPort}/`
        const answers = await Promise.all(
          Array.from({ length: 5 }, async (_, at) => {
            const answer = await fetch(url, { method: "POST", body: "x".repeat(at * 100_000) })
            return (await answer.text()).length
          })
        )
        assert.deepStrictEqual(answers, [0, 100_000, 200_000, 300_000, 400_000])
        assert.deepStrictEqual(errors, [])
        const stays = await fetch(`${url}stay`)
        await forward.close()
        assert.instanceOf(await failed(stays.text()), Error)
        assert.instanceOf(await failed(fetch(url)), Error)

        const controller = new AbortController()
        const none = await sandbox.forward(4001, {
          onError: (error) => errors.push(error),
          signal: controller.signal
        })
        assert.instanceOf(await failed(fetch(`http://127.0.0.1:${none.localPort}/`)), Error)
        assert.match(errors.map(({ message }) => message).join(), /^Nothing in the Sandbox listens on port 4001/)
        const taken = await failed(sandbox.forward(4000, { localPort: none.localPort }))
        assert.strictEqual((taken as NodeJS.ErrnoException).code, "EADDRINUSE")
        controller.abort()
        await none.close()
      })
    )
  })
})
