/** The operator's sessions: for the command line and for the operator's page, in the same words. */
import { Effect } from "effect"
import { noteInstallation } from "../../../account/OperatorAudit.ts"
import { type OperatorSession, OperatorSessions } from "../OperatorSessions.ts"
import type { Done } from "./Done.ts"
import { timestamp } from "./times.ts"
import { together } from "./together.ts"

/** The output of `--json`. */
export const sessionDocument = (session: OperatorSession) => ({
  id: session.id,
  createdAt: timestamp(session.createdAt),
  lastUsedAt: timestamp(session.lastUsedAt),
  expiresAt: timestamp(session.endsAt),
  sourceIp: session.sourceIp,
  userAgent: session.userAgent
})

/** Ends all sessions, also the one that asks, and revokes unused links. */
export const endSessions = Effect.fn("operating.endSessions")(function* () {
  const sessions = yield* OperatorSessions
  const ended = yield* together(Effect.tap(sessions.endAll, noteInstallation("endOperatorSessions", null)))
  return {
    said: `${ended === 1 ? "1 session" : `${ended} sessions`} ended, and no printed link works any more.`,
    link: null,
    secret: null,
    document: { ended }
  } satisfies Done
})
