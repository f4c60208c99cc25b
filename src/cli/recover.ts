/** `atoll accounts recover` */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { recoverAccount } from "../console/server/operating/accountActs.ts"
import { answer, remark } from "./answer.ts"

export const recover = Command.make(
  "recover",
  { account: Argument.String("account").pipe(Argument.withDescription("Its name or id")) },
  Effect.fnUntraced(function* ({ account: nameOrId }) {
    const { said, link, document } = yield* recoverAccount(nameOrId)
    for (const sentence of said.split("\n")) yield* remark(sentence)
    yield* answer(link!, document)
  })
).pipe(Command.withDescription("Print a link that signs in to an account once, to set a new passphrase"))
