/** `atoll login` */
import { AtollError } from "../errors.ts"
import { command } from "./Command.ts"
import { connect, isLoopback, serviceUrl, urlInUse } from "./connection.ts"
import { storeCredentials } from "./credentials.ts"
import { exitCodes, Refused } from "./failure.ts"
import { plain } from "./plainText.ts"
import { ask, askSecret, isPerson, pipedLine } from "./prompt.ts"
import { answer, remark } from "./standardStreams.ts"

export const login = command({
  name: "login",
  summary: "Store an API key, after asking the service whether it takes it",
  usage: "[--url URL]",
  details:
    "The key is typed or pasted, and not shown; or it is the first line of what is piped in. It is stored in\n$XDG_CONFIG_HOME/atoll/credentials.json, which nobody else can read, and is sent to this service only.",
  options: {},
  words: { least: 0, most: 0, completes: [] },
  examples: [
    ["login", "Ask for the address and the key"],
    ["login --url https://atoll.example.com < key.txt", "Take both from where they are"]
  ],
  run: async (given) => {
    const known = urlInUse(given.url)
    const url = given.url === undefined && isPerson() ? serviceUrl(await ask("Address of the service", known)) : known
    if (url.startsWith("http:") && !isLoopback(url)) {
      remark(`${url} is not encrypted: whoever is between here and there can read the key.`)
    }
    const apiKey = isPerson() ? (await askSecret("API key")).trim() : await pipedLine()
    if (apiKey === "") {
      throw new Refused("No key was given. Make one in the service's console, and paste it, or pipe it in.")
    }
    const me = await connect({ url, apiKey })
      .me()
      .catch((thrown: unknown) => {
        if (!(thrown instanceof AtollError)) throw thrown
        if (thrown.is("UNAUTHENTICATED")) {
          throw new Refused(`The service at ${url} does not take this key. Nothing was stored.`)
        }
        // It is a key, and may have other scopes.
        if (thrown.is("SCOPE_REQUIRED")) return null
        throw thrown
      })
    const path = storeCredentials({ url, apiKey })
    const who = me === null ? "" : ` as ${plain(me.account.name)}`
    const may = me?.apiKey == null ? "" : ` The key may: ${me.apiKey.scopes.join(", ")}.`
    await answer(given, `Logged in to ${url}${who}.${may}\nThe key is stored in ${path}.`, { url, path, me })
    return exitCodes.done
  }
})
