/** `atoll forward` */
import { once } from "node:events"
import { AtollError } from "../errors.ts"
import type { Forward } from "../node/Forward.ts"
import { command } from "./Command.ts"
import { exitCodes, Refused, sentenceOf, WrongUsage } from "./failure.ts"
import { listeningPorts } from "./listeningPorts.ts"
import { namedSandbox } from "./namedSandbox.ts"
import { jsonOf, remark, writeLine } from "./standardStreams.ts"
import { port } from "./values.ts"

/** How long an absent service is retried. */
const patienceSeconds = 60

const portsOf = (text: string): { readonly port: number; readonly localPort: number } => {
  const parts = text.split(":")
  if (parts.length > 2) throw new WrongUsage(`A port is written PORT or LOCAL:REMOTE, and not ${JSON.stringify(text)}.`)
  const remote = port(parts.at(-1)!)
  const local = parts.length === 1 ? text : parts[0]!
  return { port: remote, localPort: local === "0" || local === "" ? 0 : port(local) }
}

const cannotListen = (thrown: unknown, localPort: number): unknown => {
  const { code } = thrown as NodeJS.ErrnoException
  if (code === "EADDRINUSE") {
    return new Refused(
      `Something listens on port ${localPort} here already. Take another one: LOCAL:REMOTE, or 0:REMOTE for any.`
    )
  }
  return code === "EACCES"
    ? new Refused(`Port ${localPort} is not yours to listen on. Take another one: LOCAL:REMOTE.`)
    : thrown
}

const switchedOff = (thrown: unknown): unknown =>
  thrown instanceof AtollError && thrown.is("UNSUPPORTED_BY_RUNTIME")
    ? new Refused(`${thrown.message} \`atoll open\` reaches a port over HTTP.`, null, thrown)
    : thrown

/** A program may be started later, so this is only said. Before 0.3, LOCAL and REMOTE were the other way round. */
const sayWhatListens = (
  wanted: ReadonlyArray<{ readonly port: number; readonly localPort: number }>,
  listening: ReadonlySet<number> | null
): void => {
  if (listening === null) return
  for (const { port, localPort } of wanted) {
    if (listening.has(port)) continue
    const isReversed = localPort !== port && listening.has(localPort)
    remark(
      isReversed
        ? `Nothing listens on port ${port} of the Sandbox, but a program does on ${localPort}. The order is LOCAL:REMOTE since version 0.3: perhaps ${port}:${localPort} is meant.`
        : `Nothing listens on port ${port} of the Sandbox yet.`
    )
  }
}

export const forward = command({
  name: "forward",
  summary: "Bridge ports of this machine to ports of a Sandbox",
  usage: "SANDBOX [LOCAL:]REMOTE…",
  details: [
    "Any TCP goes through. Only this machine reaches the local ports: by default those of the same number, LOCAL 0 takes",
    "any free one. Until Ctrl-C. The service must have TCP access switched on; `atoll open` needs none, for HTTP.",
    "LOCAL comes first, as in ssh, docker and kubectl. Before version 0.3 it was PORT:LOCAL."
  ].join("\n"),
  options: {},
  words: { least: 2, most: 9, completes: ["sandbox", null] },
  examples: [
    ["forward dev 5432", "psql -h 127.0.0.1 reaches the Sandbox's"],
    ["forward dev 8080:3000 0:9229", "8080 here is 3000 there, and any free port is 9229"]
  ],
  run: async (given) => {
    const [nameOrId, ...texts] = given.words
    const wanted = texts.map(portsOf)
    const sandbox = await namedSandbox(given.connect(patienceSeconds), nameOrId!)
    const { url } = given.connect().api
    const told = (error: unknown) => remark(sentenceOf(error, url.origin))
    const asked = (["SIGINT", "SIGTERM", "SIGHUP"] as const).map((name) => once(process, name))
    const forwards: Array<Forward> = []
    try {
      for (const { port, localPort } of wanted) {
        const made = sandbox.forward(port, { localPort, onError: told })
        forwards.push(
          await made.catch((thrown: unknown) => Promise.reject(switchedOff(cannotListen(thrown, localPort))))
        )
      }
      sayWhatListens(wanted, await listeningPorts(sandbox))
      const listens = forwards.map(({ host, localPort, port }) => ({ host, localPort, port }))
      if (given.isJson) await writeLine(jsonOf({ forwards: listens }))
      else {
        for (const { host, localPort, port } of listens)
          await writeLine(`${host}:${localPort} is port ${port} of the Sandbox.`)
        if (process.stdout.isTTY) remark("Until Ctrl-C.")
      }
      await Promise.race(asked)
      return exitCodes.done
    } finally {
      await Promise.all(forwards.map((forward) => forward.close().catch(told)))
    }
  }
})
