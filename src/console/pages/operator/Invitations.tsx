/** Invitations: links with which people register. */
import { useState } from "preact/hooks"
import type { OperatedInvitation, OperatedInvitations } from "../../../../schemas/console/OperatedInstallation.ts"
import { get, queryOf } from "../api.ts"
import { usd } from "../format.ts"
import { type Page, usePages } from "../paged.ts"
import { Field } from "../ui/Field.tsx"
import { Instant } from "../ui/Instant.tsx"
import { More } from "../ui/More.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"
import { type Act, ActDialog, textIn } from "./ActDialog.tsx"
import { base } from "./operatorSession.ts"

const inviteAct: Act = {
  title: "Invite a person",
  label: "Make the link",
  path: "/invitations",
  means: "A link is made and shown once. One person registers one account with it.",
  fields: (
    <>
      <Field label="E-mail" name="email" hint="Only this address may register; empty: any." autocomplete="off" />
      <Field label="Valid for days" name="expiresDays" defaultValue="7" required />
      <Field label="Credit in dollars" name="creditUsd" defaultValue="10" required hint="For the first 14 days." />
    </>
  ),
  body: (data) => ({
    email: textIn(data, "email"),
    expiresDays: textIn(data, "expiresDays") ?? "",
    creditUsd: textIn(data, "creditUsd") ?? ""
  })
}

const revokeAct = (id: string): Act => ({
  title: "Revoke this invitation?",
  label: "Revoke",
  isDangerous: true,
  path: `/invitations/${encodeURIComponent(id)}/revoke`,
  means: `The link of ${id} makes no account any more.`
})

const load = async (cursor: string | null, signal?: AbortSignal): Promise<Page<OperatedInvitation>> => {
  const query = queryOf({ limit: 100, cursor })
  const { invitations, nextCursor } = await get<OperatedInvitations>(`${base}/invitations${query}`, signal)
  return { entries: invitations, nextCursor }
}

export const Invitations = () => {
  const listed = usePages("invitations", load)
  const [act, ask] = useState<Act | null>(null)
  return (
    <>
      <h1>Invitations</h1>
      <Pane
        title="All invitations"
        loaded={listed}
        actions={
          <button type="button" class="button primary" onClick={() => ask(inviteAct)}>
            Invite a person
          </button>
        }
      >
        {() =>
          listed.entries.length === 0 ? (
            <p class="empty">There are no invitations yet. A person registers with the link of one.</p>
          ) : (
            <>
              <Table
                label="Invitations"
                columns={["Id", "State", "E-mail", { number: "Credit" }, "Created", "Expires", "Account", "Actions"]}
                isHigh
              >
                {listed.entries.map(({ id, status, email, creditMicroUsd, createdAt, expiresAt, accountId }) => (
                  <tr key={id} data-invitation={id}>
                    <td>
                      <code>{id}</code>
                    </td>
                    <td>
                      <span class={`status ${status === "open" ? "active" : ""}`}>{status}</span>
                    </td>
                    <td>{email ?? "any"}</td>
                    <td class="number">{usd(creditMicroUsd)}</td>
                    <td>
                      <Instant at={createdAt} />
                    </td>
                    <td>
                      <Instant at={expiresAt} />
                    </td>
                    <td>{accountId === null ? "–" : <code>{accountId}</code>}</td>
                    <td>
                      {status === "open" ? (
                        <button
                          type="button"
                          class="button small"
                          aria-label={`Revoke ${id}`}
                          onClick={() => ask(revokeAct(id))}
                        >
                          Revoke
                        </button>
                      ) : null}
                    </td>
                  </tr>
                ))}
              </Table>
              <More list={listed} />
            </>
          )
        }
      </Pane>
      {act === null ? null : <ActDialog act={act} close={() => ask(null)} done={listed.reload} />}
    </>
  )
}
