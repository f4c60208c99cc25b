/** `atoll operator link|sessions|sign-out` */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { noteInstallation } from "../account/OperatorAudit.ts"
import { operatorLink } from "../console/server/consoleLink.ts"
import { OperatorSessions } from "../console/server/OperatorSessions.ts"
import { consoleUrl } from "../console/server/operating/accountActs.ts"
import { endSessions, sessionDocument } from "../console/server/operating/sessionActs.ts"
import { shownTime, time } from "../console/server/operating/times.ts"
import { together } from "../console/server/operating/together.ts"
import { answer, remark } from "./answer.ts"
import { table } from "./table.ts"

const link = Command.make(
  "link",
  {},
  Effect.fnUntraced(function* () {
    const url = yield* consoleUrl
    const sessions = yield* OperatorSessions
    const { code, expiresAt } = yield* together(
      Effect.tap(sessions.createLink, noteInstallation("createOperatorLink", null, 201))
    )
    yield* remark(
      `the first person to open this link may do with this Atoll what the command line does: accounts, keys, credit, rates, invitations, hosts and backups; it works once, until ${shownTime(expiresAt)}, and is not shown again`
    )
    const printed = operatorLink(url, code)
    yield* answer(printed, { link: printed, expiresAt: time(expiresAt) })
  })
).pipe(Command.withDescription("Print a link to the operator's page of the console; it works once, within 10 minutes"))

const sessions = Command.make(
  "sessions",
  {},
  Effect.fnUntraced(function* () {
    const found = yield* (yield* OperatorSessions).list
    yield* answer(
      table(
        ["ID", "OPENED", "LAST USED", "ENDS", "FROM", "BROWSER"],
        found.map((session) => [
          session.id,
          shownTime(session.createdAt),
          shownTime(session.lastUsedAt),
          shownTime(session.endsAt),
          session.sourceIp,
          session.userAgent ?? "-"
        ])
      ),
      {
        sessions: found.map(sessionDocument)
      }
    )
  })
).pipe(Command.withDescription("List the operator's active sessions, the latest first"))

const signOut = Command.make(
  "sign-out",
  {},
  Effect.fnUntraced(function* () {
    const { said, document } = yield* endSessions()
    yield* answer(said, document)
  })
).pipe(Command.withDescription("End all of the operator's sessions, and revoke unused links"))

export const operator = Command.make("operator").pipe(
  Command.withDescription("The operator's access to the console"),
  Command.withSubcommands([link, sessions, signOut])
)
