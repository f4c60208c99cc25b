/** The behaviour of a terminal on every runtime. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { type Refusal, TerminalClient } from "../../../support/terminal/TerminalClient.ts"

type Use = (
  open: (query?: string) => Promise<TerminalClient>,
  atoll: ServedAtoll["Service"],
  sandboxId: string,
  ask: () => Promise<TerminalClient | Refusal>
) => Promise<void>

/** With a new Sandbox; terminals that are left are cut. */
export const withSandbox = (test: Use) =>
  Effect.flatMap(ServedAtoll, (atoll) =>
    Effect.promise(async () => {
      const id = await atoll.newSandbox()
      const clients: Array<TerminalClient> = []
      const ask = async (query = "?columns=80&rows=24") => {
        const path = `/api/v2/sandboxes/${id}/terminal${query}`
        const found = await TerminalClient.open(atoll.port, path, { key: atoll.key })
        if (found instanceof TerminalClient) clients.push(found)
        return found
      }
      const open = async (query?: string) => {
        const found = await ask(query)
        return found instanceof TerminalClient ? found : assert.fail(JSON.stringify(found))
      }
      await test(open, atoll, id, ask)
      for (const client of clients) await client.cut()
    })
  )

const commandLines = async ({ send }: ServedAtoll["Service"], id: string): Promise<ReadonlyArray<string>> =>
  (await send("GET", `/api/v2/sandboxes/${id}/processes`)).json.processes.map(
    ({ argv }: { argv: ReadonlyArray<string> }) => argv.join(" ")
  )

export const followsItsUser: Use = async (open) => {
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
  // A terminal echoes the key when it has sent the signal, which the program may have handled by then.
  await client.shows(/interrupted(\^C)?\r\n.*code-9\r\n/s)
  client.type("echo bye; exit 7\r")
  assert.deepStrictEqual(await client.closing(), { code: 1000, reason: "" })
  assert.deepStrictEqual(client.told, [{ type: "exit", exitCode: 7, signal: null }])
  assert.include(client.output, "bye\r\n")
}

export const endsWithItsConnection: Use = async (open, atoll, id) => {
  const [first, second] = [await open(), await open()]
  first.type("setsid sleep 98762 & sleep 98763 & sleep 98764\r")
  second.type("sleep 98765\r")
  const runs = async (seconds: number) => (await commandLines(atoll, id)).includes(`sleep ${seconds}`)
  for (const seconds of [98762, 98763, 98764, 98765]) while (!(await runs(seconds))) await sleep(20)
  first.socket.terminate()
  for (const seconds of [98762, 98763, 98764]) while (await runs(seconds)) await sleep(20)
  assert.isTrue(await runs(98765))
  second.socket.close()
  while ((await commandLines(atoll, id)).length > 0) await sleep(20)
}
