/** As a page in a browser asks: keeps the cookie that it is given, sends it along, and adds the header that it has learnt. */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { Accounts } from "../../../../src/account/Accounts.ts"
import { Invitations } from "../../../../src/console/server/Invitations.ts"
import { SignInLinks } from "../../../../src/console/server/SignInLinks.ts"
import { type Answer, sendTo } from "../../http/TestApi.ts"

const api = "/console/api"
export const passphrase = "correct horse battery staple"
const dayMs = 24 * 60 * 60 * 1000

export class Browser {
  /** As the header says it; null: none. */
  cookie: string | null = null
  csrf: string | null = null
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  /** The same person's, at another process. */
  at(port: number): Browser {
    const other = new Browser(port)
    other.cookie = this.cookie
    other.csrf = this.csrf
    return other
  }

  async ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {}
  ): Promise<Answer> {
    const answer = await sendTo(this.#port, "")(method, path, {
      key: null,
      body,
      headers: {
        ...(this.cookie === null ? {} : { cookie: this.cookie }),
        ...(this.csrf === null ? {} : { "x-atoll-csrf": this.csrf }),
        ...headers
      }
    })
    const [set] = answer.headers["set-cookie"] ?? []
    if (set !== undefined) {
      const pair = set.split(";", 1)[0]!
      this.cookie = pair.endsWith("=") ? null : pair
    }
    if (typeof answer.json?.session?.csrf === "string") this.csrf = answer.json.session.csrf
    return answer
  }

  console(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer> {
    return this.ask(method, `${api}${path}`, body, headers)
  }
}

export const newInvitation = (options: { email?: string; creditMicroUsd?: bigint; expiresAt?: number } = {}) =>
  Effect.flatMap(Invitations, (invitations) =>
    invitations.create({
      email: options.email ?? null,
      creditMicroUsd: options.creditMicroUsd ?? 10_000_000n,
      expiresAt: options.expiresAt ?? Date.now() + 7 * dayMs
    })
  ).pipe(Effect.provide(Invitations.layer))

export const newPerson = () => {
  const name = randomUUID()
  return { email: `${name}@example.org`, accountName: name, passphrase }
}

/** A person who has just registered. */
export const registered = Effect.fnUntraced(function* (port: number) {
  const { code } = yield* newInvitation()
  const person = newPerson()
  const browser = new Browser(port)
  const answer = yield* Effect.promise(() => browser.console("POST", "/register", { code, ...person }))
  if (answer.status !== 201) return yield* Effect.die(new Error(answer.text))
  return { browser, person, accountId: answer.json.session.account.id as string, session: answer.json.session }
})

/** The code of a link that signs in to a new account without a passphrase. */
export const newLink = Effect.gen(function* () {
  const account = yield* (yield* Accounts).create({ name: randomUUID(), email: null })
  const { code } = yield* (yield* SignInLinks).create(account.id)
  return { account, code }
}).pipe(Effect.provide([Accounts.layer, SignInLinks.layer]))
