/** A shell in a namespace Sandbox, as somebody uses it over the service's own port. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { freshDriver, skipped, unusable } from "../host/namespace/TestHost.ts"
import { ServedAtoll } from "../support/ServedAtoll.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { TerminalClient } from "./TerminalClient.ts"

const small = { ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2) }

const withSandbox = (
  test: (
    open: (query?: string) => Promise<TerminalClient>,
    atoll: ServedAtoll["Service"],
    sandboxId: string
  ) => Promise<void>
) =>
  Effect.flatMap(ServedAtoll, (atoll) =>
    Effect.promise(async () => {
      const id = await atoll.newSandbox()
      const clients: Array<TerminalClient> = []
      const open = async (query = "?columns=80&rows=24") => {
        const found = await TerminalClient.open(atoll.port, `/api/v2/sandboxes/${id}/terminal${query}`, {
          key: atoll.key
        })
        assert.instanceOf(found, TerminalClient, JSON.stringify(found))
        clients.push(found as TerminalClient)
        return found as TerminalClient
      }
      await test(open, atoll, id)
      for (const client of clients) await client.cut()
    })
  )

const commandLines = async ({ send }: ServedAtoll["Service"], id: string): Promise<ReadonlyArray<string>> =>
  (await send("GET", `/api/v2/sandboxes/${id}/processes`)).json.processes.map(
    ({ argv }: { argv: ReadonlyArray<string> }) => argv.join(" ")
  )

describe.skipIf(skipped(unusable))("a terminal in a namespace", () => {
  layer(ServedAtoll.layer(freshDriver(small), small).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect(
      "has the size that was asked for, follows its changes, turns Ctrl-C into SIGINT, and tells its exit",
      () =>
        withSandbox(async (open) => {
          const client = await open("?columns=101&rows=37")
          client.type("stty size; echo $TERM $PWD\r")
          await client.shows("37 101\r\nxterm-256color /workspace\r\n")
          for (let columns = 1; columns <= 77; columns++) client.tell({ type: "resize", columns, rows: 11 })
          client.type("while [ \"$(stty size)\" != '11 77' ]; do sleep 0.05; done; echo re''sized\r")
          await client.shows("resized\r\n")
          const trap = `sh -c 'trap "echo interrupted; exit 9" INT; echo rea""dy; while :; do sleep 0.1; done'`
          client.type(`${trap}; echo code-$?\r`)
          await client.shows("ready\r\n")
          client.type("\x03")
          await client.shows(/interrupted\r\n.*code-9\r\n/s)
          client.type("echo bye; exit 7\r")
          assert.deepStrictEqual(await client.closing(), { code: 1000, reason: "" })
          assert.deepStrictEqual(client.told, [{ type: "exit", exitCode: 7, signal: null }])
          assert.include(client.output, "bye\r\n")
        })
    )

    it.effect("has the default size, carries bytes unchanged, and ends at Ctrl-D", () =>
      withSandbox(async (open) => {
        const client = await open("")
        client.type("stty size\r")
        await client.shows("24 80\r\n")
        const text = "grüße \u{1f30a} ".repeat(4000)
        client.type("stty raw -echo; head -c ")
        client.type(`${Buffer.byteLength(text)} | sha256sum; stty sane\r`)
        await client.shows(/sane\r\n/)
        client.type(text)
        const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", Buffer.from(text)))
        await client.shows(Buffer.from(digest).toString("hex"))
        // To a terminal that is between two prompts Ctrl-D is an empty input, which the shell never sees.
        await client.shows(/ -\s.*\$ $/s)
        client.type("\x04")
        assert.deepStrictEqual(await client.closing(), { code: 1000, reason: "" })
      })
    )

    it.effect("ends with its connection, with all that was started in it, and nothing of another one's", () =>
      withSandbox(async (open, atoll, id) => {
        const [first, second] = [await open(), await open()]
        first.type("setsid sleep 98762 & sleep 98763 & sleep 98764\r")
        second.type("sleep 98765\r")
        const runs = async (seconds: number) => (await commandLines(atoll, id)).includes(`sleep ${seconds}`)
        for (const seconds of [98762, 98763, 98764, 98765]) while (!(await runs(seconds)));
        first.socket.terminate()
        for (const seconds of [98762, 98763, 98764]) while (await runs(seconds));
        assert.isTrue(await runs(98765))
        second.socket.close()
        while ((await commandLines(atoll, id)).length > 0);
      })
    )

    it.effect("is held back by who does not read, or pauses, and costs no memory meanwhile", () =>
      withSandbox(async (open) => {
        const bytes = 96 * 1024 ** 2
        const held = () => process.memoryUsage().external + process.memoryUsage().heapUsed
        for (const how of ["unread", "paused"] as const) {
          const client = await open()
          client.type(`stty raw; echo re""ady; head -c ${bytes} /dev/zero; exit\r`)
          await client.shows("ready")
          if (how === "unread") client.socket.pause()
          else client.tell({ type: "pause" })
          const before = held()
          const look = await open()
          // Until it writes no more, or has ended.
          look.type(
            `w() { sed -n "s/^wchar: //p" "/proc/$(pgrep -xn head)/io"; }; a=-; while b=$(w); [ "$a" != "$b" ]; do a=$b; sleep 0.4; done 2>/dev/null; echo stal""led-$b-\r`
          )
          await look.shows(/stalled-\d*-/)
          const written = Number(/stalled-(\d*)-/.exec(look.output)![1])
          assert.isAbove(written, 0, how)
          assert.isBelow(written, bytes / 4, how)
          assert.isBelow(held() - before, 16 * 1024 ** 2, how)
          assert.isBelow(client.outputBytes, bytes / 4, how)
          await look.cut()
          if (how === "unread") {
            await client.cut()
            continue
          }
          client.tell({ type: "resume" })
          await client.until(() => client.closed !== null)
          assert.isAbove(client.outputBytes, bytes)
          assert.deepStrictEqual(client.told, [{ type: "exit", exitCode: 0, signal: null }])
        }
      })
    )
  })
})
