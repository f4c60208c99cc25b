/**
 * Types the documents' commands like a reader who has only them and Atoll's answers, into a real service with real
 * Sandboxes. Ids come from answers; addresses, ports and folders are the test's.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { assert } from "vitest"
import { freePort } from "../../../support/freePort.ts"
import { pageOf } from "../../../support/setup/readme/pages.ts"
import { namesIn } from "./namesIn.ts"
import type { Reader, Running } from "./Reader.ts"
import { toType } from "./toType.ts"

const page = /<h1>Hello from a Sandbox<\/h1>/

/** What must be in the output, beyond that it is no failure. */
const expected: ReadonlyArray<readonly [command: RegExp, said: RegExp]> = [
  [/^curl -sSN .*output\/stream$/, /event: operation/],
  [/^curl .*\$PREVIEW$/, page],
  [/NAME:8080/, page],
  [/^curl -sS -H "\$A" "\$U\/.*path=\/workspace\/index\.html"$/, page],
  [/usage verify/, /Everything agrees/],
  [/histories verify/, /Each ends in the stored state/],
  [/ doctor$/, /Atoll works here/],
  [/tools\/call/, /"exitCode":3/],
  [/healthz$/, /"workers"/],
  [/readyz$/, /"status":"ready"/],
  [/metrics$/, /^atoll_/m]
]

const serves = /(?:npm start|npm run up)$/
const endless = /^curl -N |^websocat | -- tunnel /
/** Answered with yes. */
const asks = /atoll -- down --purge$/

/**
 * Refused for a while only, as its message says: on a slow machine a start or an end may take longer than a call waits
 * for it.
 */
const passes = /"code":"(?:WORKSPACE_NOT_EMPTY|SANDBOX_UNAVAILABLE|SERVICE_UNAVAILABLE)"/
const patienceMs = 60_000

/** Inserts the words of a command line that may be left out. */
const whole = (command: string): string =>
  command.startsWith("atoll ") ? command.replace(/\[|\](?= |\]|$)/g, "") : command

/**
 * Types it all. A command that fails fails the test.
 * @param home The reader's folder.
 * @param emptyUrl A second database, for the installation that a backup is restored to.
 */
export const readAlong = async (reader: Reader, home: string, emptyUrl: string): Promise<void> => {
  let running: Running | null = null
  let address = ""
  const names: Record<string, string> = {}

  const asTyped = (command: string): string =>
    whole(command)
      .replaceAll("http://127.0.0.1:8080", address)
      .replace(/^ATOLL_DATA_DIR=\/var\/lib\/atoll-2 /, `DATABASE_URL='${emptyUrl}' ATOLL_DATA_DIR=${home}/second `)
      .replace("ATOLL_PORT=8081", "ATOLL_PORT=0")
      .replace("/backups/", `${home}/`)
      .replace("--listen 5433", `--listen ${names["TUNNEL"]}`)
      .replace("--account NAME", "--account acme")
      .replaceAll("NAME:8080", names["HOST"]!)
      .replace("inv_…", names["INVITATION"]!)
      .replace("key_…", names["KEY_ID"]!)

  const run = async (command: string) => {
    const end = performance.now() + patienceMs
    let said = await reader.run(asTyped(command))
    while (said.code !== 0 && passes.test(said.stdout) && performance.now() < end) {
      await sleep(500)
      said = await reader.run(asTyped(command))
    }
    const { code, stdout, stderr } = said
    assert.strictEqual(code, 0, `${asTyped(command)}\n${stdout}\n${stderr}`)
    for (const [which, words] of expected) if (which.test(command)) assert.match(stdout, words, command)
    const found = namesIn(command, stdout)
    Object.assign(names, found)
    for (const [name, value] of Object.entries(found)) await reader.run(`${name}='${value}'`)
  }

  const start = async (command: string): Promise<Running> => {
    const isUp = /npm run up$/.test(command)
    const service = await reader.follow(asTyped(command), isUp ? /Ctrl-C stops Atoll/ : /Atoll serves http/)
    address = /(?:is at|serves) (http:\/\/127\.0\.0\.1:\d+)/.exec(service.said())![1]!
    // With a separate port the command line would know it by itself.
    await reader.run(`export ATOLL_PUBLIC_URL=${address}`)
    return service
  }

  /** The output of `npm run up`, as the README shows it. */
  const printed = (): ReadonlyArray<string> => {
    const lines = running!.said().match(/^ {4}(?:atoll|KEY|U|SBX|curl).*$/gm)!
    const [, text] = /^```text\n([\s\S]*?)^```/m.exec(pageOf("README.md").text)!
    const shown = (line: string) =>
      line
        .replace(/_live_\w+/, "_live_…")
        .replace(address, "http://127.0.0.1:8080")
        // A reader does not choose a data folder, as this test does.
        .replace(/ATOLL_DATA_DIR=\$\{ATOLL_DATA_DIR:-'[^']*'\} /, "")
    assert.deepStrictEqual(
      lines.map(shown),
      text!.split("\n").filter((line) => line !== "")
    )
    return lines
  }

  await reader.run('set -u; atoll() { node src/cli/atoll.mjs "$@"; }')
  // What the reader has of Docker: an archive, though one without an image.
  await reader.run("tar cf image.tar -T /dev/null")
  for (const { command } of toType) {
    if (serves.test(command)) {
      if (running !== null && /ATOLL_DATA_DIR/.test(command)) {
        const before = address
        await (await start(command)).stop()
        address = before
      } else {
        running = await start(command)
        if (/npm run up$/.test(command)) for (const line of printed()) await run(line.trim())
      }
    } else if (endless.test(command)) {
      names["TUNNEL"] = String(await freePort())
      await (await reader.follow(asTyped(command), /./)).stop()
    } else if (asks.test(command)) {
      await run(`echo yes | script -qec '${command}' /dev/null`)
    } else {
      await run(command)
    }
  }
}
