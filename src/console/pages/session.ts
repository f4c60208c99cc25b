/** Who is signed in. */
import { effect, signal } from "@preact/signals"
import type { ConsoleSession } from "../../../schemas/console/Session.ts"
import { ApiFault, ask, csrf, get, signedOut } from "./api.ts"

interface Answer {
  readonly session: ConsoleSession
}

export type Known =
  | { readonly state: "asking" }
  /** `wasIn`: a session ended while the page was open. */
  | { readonly state: "out"; readonly wasIn: boolean }
  | { readonly state: "in"; readonly session: ConsoleSession }
  | { readonly state: "failed"; readonly fault: unknown }

export const known = signal<Known>({ state: "asking" })

const enter = ({ session }: Answer): void => {
  csrf.value = session.csrf
  known.value = { state: "in", session }
}

const leave = (wasIn: boolean): void => {
  csrf.value = null
  known.value = { state: "out", wasIn }
}

export const recognise = async (): Promise<void> => {
  try {
    enter(await get<Answer>("/console/api/session"))
  } catch (fault) {
    if (fault instanceof ApiFault && fault.status === 401) leave(false)
    else known.value = { state: "failed", fault }
  }
}

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

/** Another session of this browser takes the place of the one that is known. */
export const changePassphrase = async (body: {
  readonly old: string | null
  readonly new: string
  readonly email: string | null
}): Promise<void> => enter(await ask<Answer>("POST", "/console/api/passphrase", { body }))

export const signOut = async (everywhere: boolean): Promise<void> => {
  await ask("POST", "/console/api/sign-out", { body: { everywhere } })
  leave(false)
}

let seen = signedOut.peek()
effect(() => {
  if (signedOut.value === seen) return
  seen = signedOut.value
  leave(true)
})
