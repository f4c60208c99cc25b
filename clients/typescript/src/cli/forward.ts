/** `atoll forward` */
import { once } from "node:events"
import { AtollError } from "../errors.ts"
import type { Forward } from "../node/Forward.ts"
import { command } from "./Command.ts"
import { exitCodes, Refused, sentenceOf, WrongUsage } from "./failure.ts"
import { namedSandbox } from "./namedSandbox.ts"
import { jsonOf, remark, writeLine } from "./standardStreams.ts"
import { port } from "./values.ts"

/** How long an absent service is retried. */
const patienceSeconds = 60

const portsOf = (text: string): { readonly port: number; readonly localPort: number | null } => {
  const [remote, local, ...rest] = text.split(":")
  if (rest.length > 0) throw new WrongUsage(`A port is written PORT or PORT:LOCAL, and not ${JSON.stringify(text)}.`)
  return { port: port(remote!), localPort: local === undefined ? null : local === "0" ? 0 : port(local) }
}

const cannotListen = (thrown: unknown, localPort: number): unknown => {
  const { code } = thrown as NodeJS.ErrnoException
  if (code === "EADDRINUSE") {
    return new Refused(
      `Something listens on port ${localPort} here already. Take another one: PORT:LOCAL, or PORT:0 for any.`
    )
  }
  return code === "EACCES"
    ? new Refused(`Port ${localPort} is not yours to listen on. Take another one: PORT:LOCAL.`)
    : thrown
}

/** The service refuses it when the first connection is forwarded. */
const isOff = (thrown: unknown): boolean => thrown instanceof AtollError && thrown.is("UNSUPPORTED_BY_RUNTIME")

const switchedOff = () =>
  new Refused("This service has TCP access switched off. `atoll open` reaches a port over HTTP.")

export const forward = command({
  name: "forward",
  summary: "Bridge ports of this machine to ports of a Sandbox",
  usage: "SANDBOX PORT[:LOCAL]…",
  details: [
    "Any TCP goes through. Only this machine reaches the local ports: by default those of the same number, LOCAL 0 takes",
    "any free one. Until Ctrl-C. The service must have TCP access switched on; `atoll open` needs none, for HTTP."
  ].join("\n"),
  options: {},
  words: { least: 2, most: 9, completes: ["sandbox", null] },
  examples: [
    ["forward dev 5432", "psql -h 127.0.0.1 reaches the Sandbox's"],
    ["forward dev 3000:8080 9229:0", "Two at once, the second on any free port"]
  ],
  run: async (given) => {
    const [nameOrId, ...texts] = given.words
    const wanted = texts.map(portsOf)
    const sandbox = await namedSandbox(given.connect(patienceSeconds), nameOrId!)
    let failed = (_: unknown): void => {}
    const { url } = given.connect().api
    const told = (error: unknown) => remark(sentenceOf(error, url.origin))
    const asked = (["SIGINT", "SIGTERM", "SIGHUP"] as const).map((name) => once(process, name))
    const never = new Promise<never>((_, reject) => {
      failed = (error) => (isOff(error) ? reject(switchedOff()) : told(error))
    })
    never.catch(() => {})
    const forwards: Array<Forward> = []
    try {
      for (const { port, localPort } of wanted) {
        const local = localPort ?? port
        const made = sandbox.forward(port, { localPort: local, onError: (error) => failed(error) })
        forwards.push(await made.catch((thrown: unknown) => Promise.reject(cannotListen(thrown, local))))
      }
      const listens = forwards.map(({ host, localPort, port }) => ({ host, localPort, port }))
      if (given.isJson) await writeLine(jsonOf({ forwards: listens }))
      else {
        for (const { host, localPort, port } of listens)
          await writeLine(`${host}:${localPort} is port ${port} of the Sandbox.`)
        if (process.stdout.isTTY) remark("Until Ctrl-C.")
      }
      await Promise.race([...asked, never])
      return exitCodes.done
    } finally {
      await Promise.all(forwards.map((forward) => forward.close().catch(told)))
    }
  }
})
