/** `atoll login` */
import { AtollError } from "../errors.ts"
import { command } from "./Command.ts"
import { connect, isLoopback, serviceUrl, urlInUse } from "./connection.ts"
import { type Credentials, storeCredentials } from "./credentials.ts"
import { exitCodes, Refused, WrongUsage } from "./failure.ts"
import { hintOf, isKey, loginPart } from "./loginParts.ts"
import { plain } from "./plainText.ts"
import { ask, askSecret, isPerson, pipedLines } from "./prompt.ts"
import { answer, remark } from "./standardStreams.ts"

const noKey = "No key was given. Make one in the service's console, and paste it, or pipe it in."

interface Found {
  readonly address: string | null
  readonly apiKey: string | null
}

/** Both kinds may come in either order; two of one kind contradict each other. */
const partsOf = (lines: ReadonlyArray<string>): Found => {
  const found: { address: string | null; apiKey: string | null } = { address: null, apiKey: null }
  for (const line of lines) {
    const part = loginPart(line)
    if (part === null) continue
    const name = part.kind === "address" ? "address" : "apiKey"
    if (found[name] !== null) {
      throw new WrongUsage(
        `There are two ${part.kind === "address" ? "addresses" : "keys"} in what was given. Give one address and one key, in any order.`
      )
    }
    found[name] = part.text
  }
  return found
}

/** At each question a person may give the other part first. */
const askPerson = async (known: string | null, byDefault: string): Promise<Credentials> => {
  let address = known
  let apiKey: string | null = null
  if (address === null) {
    const first = loginPart(await ask("Address of the service", byDefault))
    if (first?.kind === "key") {
      apiKey = first.text
      remark(`That is an API key (${hintOf(apiKey)}), and it was shown here. Now the address:`)
      address = await ask("Address of the service", byDefault)
    } else address = first?.text ?? byDefault
  }
  while (apiKey === null) {
    const part = loginPart(await askSecret("API key"))
    if (part === null) throw new Refused(noKey)
    if (part.kind === "key") apiKey = part.text
    else {
      address = part.text
      remark(`That is an address (${plain(address)}), and is taken as the service's. Now the key:`)
    }
  }
  return { url: serviceUrl(address), apiKey }
}

/** @param known The address of the option or the argument; null: none was given. */
const readPiped = async (known: string | null, byDefault: string): Promise<Credentials> => {
  const { address, apiKey } = partsOf(await pipedLines(2))
  if (apiKey === null) throw new Refused(noKey)
  return { url: serviceUrl(known ?? address ?? byDefault), apiKey }
}

const addressIn = (words: ReadonlyArray<string>, option: string | undefined): string | null => {
  const key = words.find(isKey)
  if (key !== undefined) {
    throw new WrongUsage(
      `${hintOf(key)} is an API key. As an argument it stays in the shell's history: paste it when asked, or pipe it in.`
    )
  }
  if (words.length > 1) throw new WrongUsage(`That is too much: ${JSON.stringify(words[1])}.`)
  return words[0] ?? option ?? null
}

export const login = command({
  name: "login",
  summary: "Store an API key, after asking the service whether it takes it",
  usage: "[URL]",
  details: [
    "The key is typed or pasted, and not shown; or it is piped in, alone or with the address, each on a line, in any order.",
    "It is stored in $XDG_CONFIG_HOME/atoll/credentials.json, which other users cannot read, and is sent to this service only."
  ].join("\n"),
  options: {},
  words: { least: 0, most: 2, completes: [] },
  examples: [
    ["login", "Ask for the address and the key"],
    ["login https://atoll.example.com < key.txt", "Take both from where they are"]
  ],
  run: async (given) => {
    const known = addressIn(given.words, given.url)
    const byDefault = urlInUse(undefined)
    const read = await (isPerson() ? askPerson(known, byDefault) : readPiped(known, byDefault))
    const { url, apiKey } = read
    if (url.startsWith("http:") && !isLoopback(url)) {
      remark(`${url} is not encrypted: every machine between here and there can read the key.`)
    }
    const me = await connect(read)
      .me()
      .catch((thrown: unknown) => {
        if (!(thrown instanceof AtollError)) throw thrown
        if (thrown.is("UNAUTHENTICATED")) {
          throw new Refused(
            `The service at ${url} does not take the key ${hintOf(apiKey)}. Nothing was stored.`,
            null,
            thrown
          )
        }
        // It is a key, and may have other scopes.
        if (thrown.is("SCOPE_REQUIRED")) return null
        throw thrown
      })
    const path = storeCredentials(read)
    const who = me === null ? "" : ` as ${plain(me.account.name)}`
    const may = me?.apiKey == null ? "" : ` The key may: ${me.apiKey.scopes.join(", ")}.`
    await answer(
      given,
      `Logged in to ${url}${who} with the key ${plain(hintOf(apiKey))}.${may}\nThe key is stored in ${path}.`,
      { url, path, me }
    )
    return exitCodes.done
  }
})
