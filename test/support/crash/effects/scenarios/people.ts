/** People in the console: invitations, sign-in, sessions, passphrases and API keys. */

import type { Answer } from "../ClientConnection.ts"
import { asOperator, operatorSettings, signedInAsOperator, slow } from "./operatorSteps.ts"
import type { AskStep, Scenario, ScenarioStep } from "./Scenario.ts"
import { post, read, remove } from "./steps.ts"

const email = "ada@example.com"
const passphrases = ["a first long passphrase", "another long passphrase"] as const

const signIn = (name: string, passphrase: string): AskStep =>
  slow({ ...post(name, "/console/api/sign-in", { email, passphrase }), as: null })

const by = (who: string, step: AskStep): AskStep => ({ ...step, as: who })

/** That session, or key, is refused for good. */
const isOver = (who: string): AskStep => ({
  ...read(`what ${who} may`, "/me"),
  as: who,
  status: 401,
  isRepeated: true
})

/** The one that is in use goes on. */
const works = (who: string): AskStep => ({ ...read(`${who} works`, "/me"), as: who, isRepeated: true })

const registerOnce = slow({
  ...post("register", "/console/api/register", {
    code: "{inviteCode}",
    email,
    accountName: "Ada",
    passphrase: passphrases[0]
  }),
  as: null
})
const register: AskStep = { ...registerOnce, otherwise: signIn("register done", passphrases[0]) }

const registered: ReadonlyArray<ScenarioStep> = [
  ...signedInAsOperator,
  asOperator("invite", "/invitations", { email, expiresDays: "7", creditUsd: "5" }),
  register
]

/** Of three, as the answer to each that works once may be lost. */
const link = (nth: number, otherwise?: AskStep): AskStep => ({
  ...post(`link ${nth}`, "/console/api/sign-in-link", { code: `{recover${nth}Code}` }),
  as: null,
  ...(otherwise === undefined ? {} : { otherwise })
})

/** Its answer has the secret, which nothing shows again: a client without it makes another one, once no late answer can have it. */
const createKey = (name: string, session: string): AskStep => ({
  ...by(session, slow(post(name, "/console/api/keys", { name, scopes: ["sandbox:read", "sandbox:execute"] }))),
  isOnce: true
})

type Keys = ReadonlyArray<{ readonly name: string; readonly revokedAt: string | null }>

const turning = ({ json }: Answer): number =>
  (json.keys as Keys).filter(({ name, revokedAt }) => name === "turning" && revokedAt === null).length

/** As many keys of that name as before: one in place of the other. */
const isRotated: NonNullable<AskStep["holds"]> = (answer, answers) =>
  turning(answer) === turning(answers.get("keys before")!)

const keys = (name: string): AskStep => by("register", read(name, "/console/api/keys"))

export const peopleScenarios: ReadonlyArray<Scenario> = [
  {
    name: "invitation",
    environment: operatorSettings,
    steps: [
      ...registered,
      works("register"),
      // An invitation makes one account.
      { ...registerOnce, name: "a second account", status: 404, isRepeated: true },
      asOperator("another", "/invitations", { email: null, expiresDays: "7", creditUsd: "0" }),
      asOperator("revoke", "/invitations/{another}/revoke"),
      {
        ...post("with a revoked one", "/console/api/register", {
          code: "{anotherCode}",
          email: "eve@example.com",
          accountName: "Eve",
          passphrase: passphrases[0]
        }),
        as: null,
        status: 404,
        isRepeated: true
      }
    ]
  },
  {
    name: "sessions",
    environment: operatorSettings,
    steps: [
      ...registered,
      signIn("tablet", passphrases[0]),
      signIn("phone", passphrases[0]),
      by("tablet", remove("end", "/console/api/sessions/{phone}")),
      isOver("phone"),
      slow({
        ...by("tablet", post("passphrase", "/console/api/passphrase", { old: passphrases[0], new: passphrases[1] })),
        otherwise: signIn("passphrase done", passphrases[1])
      }),
      isOver("tablet"),
      { ...signIn("old passphrase", passphrases[0]), status: 401 },
      signIn("laptop", passphrases[1]),
      slow({
        ...by("laptop", post("out", "/console/api/sign-out", {})),
        otherwise: { ...isOver("laptop"), name: "out done" }
      }),
      isOver("laptop"),
      slow({
        ...by("passphrase", post("everywhere", "/console/api/sign-out", { everywhere: true })),
        otherwise: { ...isOver("passphrase"), name: "everywhere done" }
      }),
      isOver("passphrase")
    ]
  },
  {
    name: "recovery",
    environment: operatorSettings,
    steps: [
      ...signedInAsOperator,
      ...[1, 2, 3].map((nth) => asOperator(`recover${nth}`, "/accounts/default/recover")),
      link(1, link(2, link(3))),
      { ...link(1), name: "a used link", status: 401, isRepeated: true },
      slow({
        ...by("link 1", post("passphrase", "/console/api/passphrase", { old: null, new: passphrases[0], email })),
        // It ends all other sessions.
        isOnce: true,
        otherwise: signIn("passphrase done", passphrases[0])
      }),
      isOver("link 1"),
      works("passphrase")
    ]
  },
  {
    name: "keys",
    environment: operatorSettings,
    steps: [
      ...registered,
      createKey("lasting", "register"),
      createKey("turning", "register"),
      createKey("brief", "register"),
      createKey("leaving", "register"),
      works("lasting"),
      by("register", slow(post("revoke", "/console/api/keys/{brief}/revoke"))),
      isOver("brief"),
      slow({ ...by("leaving", remove("leave", "/auth")), otherwise: { ...isOver("leaving"), name: "leave done" } }),
      isOver("leaving"),
      keys("keys before"),
      slow({
        ...by("register", post("rotate", "/console/api/keys/{turning}/rotate")),
        // Its secret is lost, but the key is there.
        otherwise: { ...keys("rotated"), holds: isRotated }
      }),
      isOver("turning"),
      { ...works("rotate"), isRepeated: false },
      { ...keys("all keys"), holds: isRotated }
    ]
  }
]
