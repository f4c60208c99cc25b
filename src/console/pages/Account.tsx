/** The account: its limits, its sessions, its passphrase. */
import { useState } from "preact/hooks"
import type { ListedSession } from "../../../schemas/console/Session.ts"
import type { Me } from "../../../schemas/Me.ts"
import { ask, get } from "./api.ts"
import { count, size } from "./format.ts"
import { useLoad } from "./load.ts"
import { changePassphrase, known, signOut } from "./session.ts"
import { Form, useAction } from "./ui/Action.tsx"
import { Fault } from "./ui/Fault.tsx"
import { Field } from "./ui/Field.tsx"
import { Instant } from "./ui/Instant.tsx"
import { Pane } from "./ui/Pane.tsx"
import { Table } from "./ui/Table.tsx"
import { useValue } from "./useValue.ts"

const Limits = () => {
  const loaded = useLoad("me", (signal) => get<Me>("/api/v2/me", signal))
  return (
    <Pane title="Account" loaded={loaded}>
      {({ account, limits }) => (
        <dl class="facts">
          <dt>Name</dt>
          <dd class="break">{account.name}</dd>
          <dt>Id</dt>
          <dd>
            <code>{account.id}</code>
          </dd>
          <dt>Since</dt>
          <dd>
            <Instant at={account.createdAt} />
          </dd>
          <dt>Sandboxes</dt>
          <dd>at most {count(limits.sandboxes)}</dd>
          <dt>Workspaces</dt>
          <dd>at most {count(limits.workspaces)}</dd>
          <dt>Storage of a workspace</dt>
          <dd>at most {size(limits.workspaceStorageBytes)}</dd>
        </dl>
      )}
    </Pane>
  )
}

const openedBy = { registration: "registration", passphrase: "passphrase", link: "link" }

const Sessions = () => {
  const loaded = useLoad("sessions", (signal) =>
    get<{ readonly sessions: ReadonlyArray<ListedSession> }>("/console/api/sessions", signal)
  )
  const ending = useAction(async (id: string) => {
    await ask("DELETE", `/console/api/sessions/${id}`)
    loaded.reload()
  })
  const everywhere = useAction(() => signOut(true))
  return (
    <Pane
      title="Sessions"
      loaded={loaded}
      actions={
        <button type="button" class="button" onClick={() => void everywhere.run()} aria-disabled={everywhere.isBusy}>
          Sign out everywhere
        </button>
      }
    >
      {({ sessions }) => (
        <>
          <Fault fault={ending.fault ?? everywhere.fault} />
          <Table label="Sessions" columns={["From", "Opened", "Last used", "Expires if unused", "Actions"]}>
            {sessions.map((session) => (
              <tr key={session.id}>
                <td>
                  {session.sourceIp}
                  {session.userAgent === null ? null : (
                    <span class="soft block cut agent" title={session.userAgent}>
                      {session.userAgent}
                    </span>
                  )}
                </td>
                <td>
                  <Instant at={session.createdAt} />
                  <span class="soft block">by {openedBy[session.openedBy]}</span>
                </td>
                <td>
                  <Instant at={session.lastUsedAt} />
                </td>
                <td>
                  <Instant at={session.expiresAt} />
                </td>
                <td>
                  {session.isCurrent ? (
                    <span class="status active">this one</span>
                  ) : (
                    <button
                      type="button"
                      class="button small"
                      aria-label={`End the session from ${session.sourceIp}`}
                      aria-disabled={ending.isBusy}
                      onClick={() => void ending.run(session.id)}
                    >
                      End
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </Table>
        </>
      )}
    </Pane>
  )
}

const Passphrase = () => {
  const [said, setSaid] = useState("")
  /** Key of the form: a new key makes an empty form. */
  const [turn, setTurn] = useState(0)
  const now = useValue(known)
  const email = now.state === "in" ? now.session.email : null
  return (
    <section class="pane" aria-labelledby="passphrase">
      <header class="pane-head">
        <h2 id="passphrase">Passphrase</h2>
      </header>
      <p class="hint">Changing it ends all other sessions of the account.</p>
      <Form
        key={turn}
        label={email === null ? "Set the passphrase" : "Change the passphrase"}
        busyLabel="Changing …"
        submit={async (data) => {
          const old = data.get("old")
          const given = data.get("email")
          await changePassphrase({
            old: old === null || old === "" ? null : String(old),
            new: String(data.get("new")),
            email: given === null ? null : String(given)
          })
          setSaid("The passphrase was changed.")
          setTurn((before) => before + 1)
        }}
      >
        {email === null ? (
          <Field label="E-mail" name="email" type="email" autocomplete="username" required />
        ) : (
          <Field
            label="Present passphrase"
            name="old"
            type="password"
            autocomplete="current-password"
            required={now.state === "in" && now.session.openedBy !== "link"}
            {...(now.state === "in" && now.session.openedBy === "link"
              ? { hint: "May be empty for an hour after you signed in with a link." }
              : {})}
          />
        )}
        <Field
          label="New passphrase"
          name="new"
          type="password"
          autocomplete="new-password"
          minLength={12}
          maxLength={256}
          required
          hint="At least 12 characters. A few words are better than a short mixture of symbols."
        />
      </Form>
      <p role="status">{said}</p>
    </section>
  )
}

export const Account = () => (
  <>
    <h1>Account</h1>
    <Limits />
    <Sessions />
    <Passphrase />
  </>
)
