/** A session of this browser, in the page's view. */
import { effect, signal } from "@preact/signals"
import { ApiFault, csrf, get, signedOut } from "./api.ts"

type Known<Session> =
  | { readonly state: "asking" }
  /** `wasIn`: a session ended while the page was open. */
  | { readonly state: "out"; readonly wasIn: boolean }
  | { readonly state: "in"; readonly session: Session }
  | { readonly state: "failed"; readonly fault: unknown }

/** @param path The endpoint of the session. */
export const sessionAt = <Session extends { readonly csrf: string }>(path: string) => {
  const known = signal<Known<Session>>({ state: "asking" })

  const enter = ({ session }: { readonly session: Session }): void => {
    csrf.value = session.csrf
    known.value = { state: "in", session }
  }

  const leave = (wasIn: boolean): void => {
    csrf.value = null
    known.value = { state: "out", wasIn }
  }

  const recognise = async (): Promise<void> => {
    try {
      enter(await get<{ readonly session: Session }>(path))
    } catch (fault) {
      if (fault instanceof ApiFault && fault.status === 401) leave(false)
      else known.value = { state: "failed", fault }
    }
  }

  let seen = signedOut.peek()
  effect(() => {
    if (signedOut.value === seen) return
    seen = signedOut.value
    leave(true)
  })

  return { known, enter, leave, recognise }
}
