/** All accounts: their state, their Sandboxes by state, what they cost, and what the operator may do with them. */
import { useRef, useState } from "preact/hooks"
import type { AllAccounts, OperatedAccount, OperatedAccounts } from "../../../../schemas/console/Operating.ts"
import { get, queryOf } from "../api.ts"
import { oneLine } from "../characterPicture.ts"
import { count, usd } from "../format.ts"
import { useLoad } from "../load.ts"
import { Fault } from "../ui/Fault.tsx"
import { Field } from "../ui/Field.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"
import { AccountDetails } from "./AccountDetails.tsx"
import { type Act, ActDialog } from "./ActDialog.tsx"
import { createAct, creditAct, limitsAct, recoverAct, resumeAct, suspendAct } from "./accountActs.tsx"
import { base } from "./operatorSession.ts"
import { Pages } from "./Pages.tsx"
import { useTurned } from "./useTurned.ts"

const inWords = (accounts: number): string => (accounts === 1 ? "1 account" : `${count(accounts)} accounts`)

const countsOf = (sandboxes: OperatedAccount["sandboxes"]): string =>
  Object.entries(sandboxes)
    .map(([state, number]) => `${count(number)} ${state}`)
    .join(", ") || "none"

const Row = ({ account, ask, open }: { account: OperatedAccount; ask: (act: Act) => void; open: () => void }) => {
  const button = (text: string, act: Act) => (
    <button type="button" class="button small" aria-label={`${text} ${oneLine(account.name)}`} onClick={() => ask(act)}>
      {text}
    </button>
  )
  return (
    <tr data-account={account.id}>
      <td>
        <strong class="break">{oneLine(account.name)}</strong>
        <code class="soft block">{account.id}</code>
        {account.email === null ? null : <span class="soft block">{account.email}</span>}
      </td>
      <td>
        <span class={`status ${account.suspendedAt === null ? "active" : "revoked"}`}>
          {account.suspendedAt === null ? "active" : "suspended"}
        </span>
        <span class="soft block">{account.billing}</span>
      </td>
      <td data-label="Sandboxes">{countsOf(account.sandboxes)}</td>
      <td class="number" data-label="Per hour">
        {usd(account.burnMicroUsdPerHour)}
      </td>
      <td>
        <span class="actions">
          <button type="button" class="button small" aria-label={`Details of ${oneLine(account.name)}`} onClick={open}>
            Details
          </button>
          {button("Limits", limitsAct(account))}
          {button("Credit", creditAct(account))}
          {button("Recover", recoverAct(account))}
          {account.suspendedAt === null ? button("Suspend", suspendAct(account)) : button("Resume", resumeAct(account))}
        </span>
      </td>
    </tr>
  )
}

/** What all accounts have together. */
const Sum = ({ turn }: { turn: number }) => {
  const { value, fault } = useLoad(`sum ${turn}`, (signal) => get<AllAccounts>(`${base}/accounts/sum`, signal))
  if (value === null) return fault === null ? <p class="lead">Counting …</p> : <Fault fault={fault} />
  const { accounts, sandboxes, burnMicroUsdPerHour } = value
  return (
    <p class="lead">
      {inWords(accounts)}; Sandboxes: {countsOf(sandboxes)}; {usd(burnMicroUsdPerHour)} per hour in total.
    </p>
  )
}

const pageRows = 50

export const Accounts = ({ lead }: { lead: (part: "Keys" | "Audit", account: string) => void }) => {
  const turned = useTurned()
  const { typed, setTyped, find, cursors } = turned
  const query = queryOf({ limit: pageRows, cursor: cursors.at(-1) ?? null, find })
  const loaded = useLoad(query, (signal) => get<OperatedAccounts>(`${base}/accounts${query}`, signal))
  /** The previous page stays until the next is loaded, so that the search and the page buttons do not move. */
  const known = useRef<OperatedAccounts | null>(null)
  known.current = loaded.value ?? known.current
  const [act, ask] = useState<Act | null>(null)
  const [opened, open] = useState<OperatedAccount | null>(null)
  const [turn, setTurn] = useState(0)
  const { matching = 0, accounts = [] } = known.current ?? {}
  return (
    <>
      <h1>Accounts</h1>
      <Sum turn={turn} />
      <div class="filters">
        <Field label="Find" type="search" value={typed} onText={setTyped} placeholder="Name, e-mail or id" />
        <span class="found" role="status">
          {inWords(matching)}
        </span>
      </div>
      <Pane
        title="All accounts"
        loaded={loaded}
        actions={
          <button type="button" class="button primary" onClick={() => ask(createAct)}>
            Create an account
          </button>
        }
      >
        {({ accounts }) =>
          accounts.length === 0 ? (
            <p class="empty">No account matches.</p>
          ) : (
            <Table
              label="Accounts"
              class="operated"
              columns={["Account", "State", "Sandboxes", { number: "Cost per hour" }, "Actions"]}
              isHigh
            >
              {accounts.map((account) => (
                <Row key={account.id} account={account} ask={ask} open={() => open(account)} />
              ))}
            </Table>
          )
        }
      </Pane>
      <Pages what="accounts" turned={turned} rows={pageRows} all={matching} next={loaded.value?.nextCursor ?? null} />
      {opened === null ? null : (
        <AccountDetails account={accounts.find(({ id }) => id === opened.id) ?? opened} turn={turn} lead={lead} />
      )}
      {act === null ? null : (
        <ActDialog
          act={act}
          close={() => ask(null)}
          done={() => {
            loaded.reload()
            setTurn(turn + 1)
          }}
        />
      )}
    </>
  )
}
