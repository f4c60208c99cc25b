/** The operator's session, which belongs to no account. */
import type { OperatorSession } from "../../../../schemas/console/Operator.ts"
import { ask } from "../api.ts"
import { sessionAt } from "../sessionAt.ts"

export const base = "/console/api/operator"

interface Answer {
  readonly session: OperatorSession
}

const { known, enter, leave, recognise } = sessionAt<OperatorSession>(`${base}/session`)

export { known, leave, recognise }

export const signInByLink = async (code: string): Promise<void> =>
  enter(await ask<Answer>("POST", `${base}/sign-in`, { body: { code } }))

export const signOut = async (): Promise<void> => {
  await ask("POST", `${base}/sign-out`)
  leave(false)
}
