/** `atoll mcp` */
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { remark, writeLine } from "../standardStreams.ts"
import { Bridge } from "./Bridge.ts"
import { lines } from "./lines.ts"

/** Clients send no more concurrently; further requests wait in the pipe. */
const waitingMax = 64
/** How long an absent service is retried: most clients give up after a minute. */
const patienceSeconds = 60

export const mcp = command({
  name: "mcp",
  summary: "Serve Sandboxes to a model: the Model Context Protocol on stdin and stdout",
  usage: "",
  details:
    "A client of the protocol (an editor, an assistant) starts this and speaks with it; there is nothing to type. It passes on\nwhat the service at ATOLL_URL offers to the key, waits for a service that restarts, and does nothing twice.",
  options: {},
  words: { least: 0, most: 0, completes: [] },
  examples: [
    ["mcp", 'In the client\'s configuration: {"mcpServers": {"atoll": {"command": "atoll", "args": ["mcp"]}}}'],
    [
      "mcp --url https://atoll.example.com",
      'With a key: {"command": "atoll", "args": [...], "env": {"ATOLL_API_KEY": "atoll_live_..."}}'
    ]
  ],
  run: async (given) => {
    const { api } = given.connect(patienceSeconds)
    const bridge = new Bridge(api, (message) => writeLine(JSON.stringify(message)))
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.on(signal, () => process.exit(exitCodes.done))
    if (process.stdin.isTTY) {
      remark(
        `${api.url.origin} is served to a client of the Model Context Protocol, which is to start this. Ctrl-C ends it.`
      )
    }
    const waiting = new Set<Promise<void>>()
    let gone: unknown = null
    for await (const line of lines(process.stdin)) {
      const taken: Promise<void> = bridge
        .take(line)
        .catch((thrown: unknown) => {
          gone = thrown
        })
        .finally(() => waiting.delete(taken))
      waiting.add(taken)
      if (waiting.size >= waitingMax) await Promise.race(waiting)
      if (gone !== null) throw gone
    }
    await Promise.all(waiting)
    if (gone !== null) throw gone
    return exitCodes.done
  }
})
