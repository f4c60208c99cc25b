/** The session of the signed-in account. */
import type { ConsoleSession } from "../../../schemas/console/Session.ts"
import { ask } from "./api.ts"
import { sessionAt } from "./sessionAt.ts"

interface Answer {
  readonly session: ConsoleSession
}

const { known, enter, leave, recognise } = sessionAt<ConsoleSession>("/console/api/session")

export { known, recognise }

export const signIn = async (email: string, passphrase: string): Promise<void> =>
  enter(await ask<Answer>("POST", "/console/api/sign-in", { body: { email, passphrase } }))

export const signInByLink = async (code: string): Promise<void> =>
  enter(await ask<Answer>("POST", "/console/api/sign-in-link", { body: { code } }))

export interface Registration {
  readonly code: string
  readonly email: string
  readonly accountName: string
  readonly passphrase: string
}

export const register = async (body: Registration): Promise<void> =>
  enter(await ask<Answer>("POST", "/console/api/register", { body }))

/** A new session of this browser replaces the present one. */
export const changePassphrase = async (body: {
  readonly old: string | null
  readonly new: string
  readonly email: string | null
}): Promise<void> => enter(await ask<Answer>("POST", "/console/api/passphrase", { body }))

export const signOut = async (everywhere: boolean): Promise<void> => {
  await ask("POST", "/console/api/sign-out", { body: { everywhere } })
  leave(false)
}
