/** The operator's active sessions, and their end. A new link is made on the command line alone: a session must not prolong itself. */
import { useState } from "preact/hooks"
import type { OperatedSessions } from "../../../../schemas/console/OperatedSessions.ts"
import { get } from "../api.ts"
import { Copy } from "../ui/Copy.tsx"
import { Instant } from "../ui/Instant.tsx"
import { Live } from "../ui/Live.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"
import { type Act, ActDialog } from "./ActDialog.tsx"
import { feedOf, useFollowed } from "./followed.ts"
import { base, leave } from "./operatorSession.ts"

const endAct: Act = {
  title: "End all sessions?",
  label: "End all sessions",
  isDangerous: true,
  path: "/sessions/end",
  means: "Everybody who is signed in as the operator is signed out, you too, and no printed link works any more."
}

export const Sessions = () => {
  const loaded = useFollowed("sessions", (signal) => get<OperatedSessions>(`${base}/sessions`, signal))
  const [act, ask] = useState<Act | null>(null)
  return (
    <>
      <h1>Sessions</h1>
      <p class="lead">
        Who is signed in as the operator. A session ends 12 hours after its sign-in, and an hour after its last use.
      </p>
      <Pane
        title="Active sessions"
        loaded={loaded}
        age={<Live feed={feedOf(loaded)} at={loaded.at} />}
        actions={
          <button type="button" class="button" onClick={() => ask(endAct)}>
            End all sessions
          </button>
        }
      >
        {({ sessions }) => (
          <Table
            label="Active sessions"
            class="operated"
            columns={["Session", "Opened", "Last used", "Ends", "From", "Browser"]}
          >
            {sessions.map(({ id, createdAt, lastUsedAt, expiresAt, sourceIp, userAgent, isThis }) => (
              <tr key={id} data-session={id}>
                <td>
                  <code class="break">{id}</code>
                  {isThis ? <span class="soft block">this one</span> : null}
                </td>
                <td data-label="Opened">
                  <Instant at={createdAt} />
                </td>
                <td data-label="Last used">
                  <Instant at={lastUsedAt} />
                </td>
                <td data-label="Ends">
                  <Instant at={expiresAt} />
                </td>
                <td data-label="From">{sourceIp}</td>
                <td data-label="Browser" class="break">
                  {userAgent ?? "–"}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Pane>
      <section class="pane" aria-label="Another link">
        <p>A link for another browser or person is made on the command line; it works once, within 10 minutes:</p>
        <Copy text="npm run --silent atoll -- operator link" label="Copy the command" />
      </section>
      {act === null ? null : <ActDialog act={act} close={() => ask(null)} done={() => leave(true)} />}
    </>
  )
}
