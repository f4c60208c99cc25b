/** `atoll whoami` */
import { AtollError } from "../errors.ts"
import { command } from "./Command.ts"
import { credentialsInUse } from "./connection.ts"
import { credentialsPath } from "./credentials.ts"
import { exitCodes } from "./failure.ts"
import { answer, writeLine } from "./standardStreams.ts"
import { list } from "./table.ts"

const sourceOf = (): string => (process.env["ATOLL_API_KEY"] ? "ATOLL_API_KEY" : credentialsPath())

export const whoami = command({
  name: "whoami",
  summary: "Show the account, the API key and the service that are in use",
  usage: "[--key]",
  details: "--key prints the API key and nothing else, for other programs: KEY=$(atoll whoami --key)",
  options: {
    key: { type: "boolean", description: "Print the API key" }
  },
  words: { least: 0, most: 0, completes: [] },
  examples: [
    ["whoami", "Which account, which key, what it may do"],
    ["whoami --key", "The key, for curl and others"]
  ],
  run: async (given) => {
    const credentials = credentialsInUse(given.url)
    if (given.options.key === true) {
      await writeLine(credentials.apiKey)
      return exitCodes.done
    }
    const me = await given
      .connect()
      .me()
      .catch((thrown: unknown) => {
        // A valid key without sandbox:read.
        if (thrown instanceof AtollError && thrown.is("SCOPE_REQUIRED")) return null
        throw thrown
      })
    const from = sourceOf()
    const key = me?.apiKey ?? null
    const prose = () =>
      list([
        [
          "account",
          me === null
            ? "not shown to this key: it lacks the scope sandbox:read"
            : `${me.account.name} (${me.account.id})`
        ],
        ["service", credentials.url],
        ["key", `…${credentials.apiKey.slice(-4)}${key === null ? "" : ` (${key.name}, ${key.id})`}, from ${from}`],
        ...(key === null ? [] : [["may", key.scopes.join(", ")] as const])
      ])
    await answer(given, prose, { url: credentials.url, from, me })
    return exitCodes.done
  }
})
