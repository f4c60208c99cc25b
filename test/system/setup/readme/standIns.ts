/** The reader's programs, as far as the README needs them, for a folder on the search path. */
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** This curl also fails on a refusal, and it shows no progress. */
const failingCurl = (): string => {
  const curl = execFileSync("sh", ["-c", "command -v curl"], { encoding: "utf8" }).trim()
  return `#!/bin/sh
case " $* " in *" -sSf "*) exec ${curl} "$@" ;; esac
exec ${curl} -sS --fail-with-body "$@"
`
}

/** Debian has no package of `websocat`: this does the part that is used here. */
const websocat = `#!/usr/bin/env node
const { WebSocket } = require(${JSON.stringify(join(import.meta.dirname, "../../../../node_modules/ws"))})
const words = process.argv.slice(2)
const header = words[words.indexOf("-H") + 1]
const socket = new WebSocket(words.at(-1), { headers: { [header.split(": ")[0]]: header.split(": ")[1] } })
socket.on("message", (data) => process.stdout.write(data))
socket.on("error", (fault) => { console.error(fault.message); process.exit(1) })
`

/** @returns The folder. */
export const standInsIn = (home: string): string => {
  const folder = join(home, "bin")
  mkdirSync(folder)
  writeFileSync(join(folder, "websocat"), websocat, { mode: 0o755 })
  writeFileSync(join(folder, "curl"), failingCurl(), { mode: 0o755 })
  return folder
}
