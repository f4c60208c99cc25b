/** The operator's session, which is no account's. */
import { effect, signal } from "@preact/signals"
import type { OperatorSession } from "../../../../schemas/console/Operator.ts"
import { ApiFault, ask, csrf, get, signedOut } from "../api.ts"

export const base = "/console/api/operator"

interface Answer {
  readonly session: OperatorSession
}

export type Known =
  | { readonly state: "asking" }
  /** `wasIn`: a session ended while the page was open. */
  | { readonly state: "out"; readonly wasIn: boolean }
  | { readonly state: "in"; readonly session: OperatorSession }
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
    enter(await get<Answer>(`${base}/session`))
  } catch (fault) {
    if (fault instanceof ApiFault && fault.status === 401) leave(false)
    else known.value = { state: "failed", fault }
  }
}

export const signInByLink = async (code: string): Promise<void> =>
  enter(await ask<Answer>("POST", `${base}/sign-in`, { body: { code } }))

export const signOut = async (): Promise<void> => {
  await ask("POST", `${base}/sign-out`)
  leave(false)
}

let seen = signedOut.peek()
effect(() => {
  if (signedOut.value === seen) return
  seen = signedOut.value
  leave(true)
})
