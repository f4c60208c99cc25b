/** API keys of all accounts. The page has a secret only while its dialog is open. */
import { useCallback, useState } from "preact/hooks"
import type { OperatedKeys as Listed, OperatedKey } from "../../../../schemas/console/OperatedKeys.ts"
import { get, queryOf } from "../api.ts"
import { oneLine } from "../characterPicture.ts"
import { isAccepted, KeyState } from "../KeyState.tsx"
import { type Page, usePages } from "../paged.ts"
import { ScopeChoice, Scopes } from "../Scopes.tsx"
import { Field } from "../ui/Field.tsx"
import { Instant } from "../ui/Instant.tsx"
import { More } from "../ui/More.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"
import { AccountFilter } from "./AccountFilter.tsx"
import { type Act, ActDialog, textIn } from "./ActDialog.tsx"
import { base } from "./operatorSession.ts"

const createAct = (account: string): Act => ({
  title: "Create an API key",
  label: "Create the key",
  path: "/keys",
  means: "The secret is shown once. Anyone who has it acts for the account, within the scopes.",
  fields: (
    <>
      <Field label="Account" name="account" defaultValue={account} required hint="Its name or id." autocomplete="off" />
      <Field label="Name" name="name" required maxLength={128} hint="Its purpose." autocomplete="off" />
      <ScopeChoice />
      <Field label="Expires at" name="expiresAt" hint="2027-01-31T12:00:00Z; empty: never." autocomplete="off" />
    </>
  ),
  body: (data) => {
    const scopes = data.getAll("scopes").map(String)
    if (scopes.length === 0) throw new Error("Choose at least one scope.")
    return {
      account: textIn(data, "account") ?? "",
      name: textIn(data, "name") ?? "",
      scopes: scopes.join(","),
      expiresAt: textIn(data, "expiresAt")
    }
  }
})

const revokeAct = ({ id, name, hint, accountName }: OperatedKey): Act => ({
  title: "Revoke this key?",
  label: "Revoke",
  isDangerous: true,
  path: `/keys/${encodeURIComponent(id)}/revoke`,
  means: `${oneLine(name)} (… ${hint}) of ${oneLine(accountName)} is refused everywhere from then on. This cannot be undone.`
})

const Row = ({ of, ask }: { of: OperatedKey; ask: (act: Act) => void }) => (
  <tr data-key={of.id}>
    <td>
      <strong class="break">{oneLine(of.accountName)}</strong>
      <code class="soft block">{of.accountId}</code>
    </td>
    <td>
      <span class="break">{oneLine(of.name)}</span> <code class="soft">… {of.hint}</code>
      <code class="soft block">{of.id}</code>
    </td>
    <td>
      <KeyState of={of} />
    </td>
    <td data-label="Scopes">
      <Scopes of={of.scopes} />
    </td>
    <td data-label="Created">
      <Instant at={of.createdAt} />
    </td>
    <td data-label="Last used">
      <Instant at={of.lastUsedAt} none="never" />
      {of.lastUsedFrom === null ? null : <span class="soft block">from {of.lastUsedFrom}</span>}
    </td>
    <td>
      {!isAccepted(of) ? null : (
        <button
          type="button"
          class="button small"
          aria-label={`Revoke ${oneLine(of.name)} of ${oneLine(of.accountName)}`}
          onClick={() => ask(revokeAct(of))}
        >
          Revoke
        </button>
      )}
    </td>
  </tr>
)

const columns = ["Account", "Key", "State", "Scopes", "Created", "Last used", "Actions"]

/** @param of The account whose keys are shown first; empty: all. */
export const OperatedKeys = ({ of }: { of: string }) => {
  const [account, setAccount] = useState(of)
  const load = useCallback(
    async (cursor: string | null, signal?: AbortSignal): Promise<Page<OperatedKey>> => {
      const { keys, nextCursor } = await get<Listed>(`${base}/keys${queryOf({ account, limit: 50, cursor })}`, signal)
      return { entries: keys, nextCursor }
    },
    [account]
  )
  const listed = usePages(account, load)
  const [act, ask] = useState<Act | null>(null)
  return (
    <>
      <h1>Keys</h1>
      <p class="lead">API keys of all accounts, expired and revoked ones included.</p>
      <AccountFilter account={account} apply={setAccount} />
      <Pane
        title="API keys"
        loaded={listed}
        actions={
          <button type="button" class="button primary" onClick={() => ask(createAct(account))}>
            Create a key
          </button>
        }
      >
        {() =>
          listed.entries.length === 0 ? (
            <p class="empty">There are no keys yet.</p>
          ) : (
            <>
              <Table label="API keys" class="operated" columns={columns} isHigh>
                {listed.entries.map((key) => (
                  <Row key={key.id} of={key} ask={ask} />
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
