/** All accounts: their state, their Sandboxes by state, what they cost, and what the operator may do with them. */
import { useState } from "preact/hooks"
import type { OperatedAccount, OperatedAccounts, OperatedMoney } from "../../../../schemas/console/Operating.ts"
import { get } from "../api.ts"
import { oneLine } from "../characterPicture.ts"
import { count, usd } from "../format.ts"
import { useLoad } from "../load.ts"
import { Instant } from "../ui/Instant.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"
import { type Act, ActDialog } from "./ActDialog.tsx"
import { createAct, creditAct, limitsAct, recoverAct, resumeAct, suspendAct } from "./accountActs.tsx"
import { base } from "./operatorSession.ts"

const countsOf = ({ sandboxes }: OperatedAccount): string =>
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
      <td>{countsOf(account)}</td>
      <td class="number">{usd(account.burnMicroUsdPerHour)}</td>
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

const Money = ({ account, turn }: { account: OperatedAccount; turn: number }) => {
  const loaded = useLoad(`money ${account.id} ${turn}`, (signal) =>
    get<OperatedMoney>(`${base}/accounts/${encodeURIComponent(account.id)}/money`, signal)
  )
  return (
    <Pane title={`Details of ${oneLine(account.name)}`} loaded={loaded}>
      {({ microUsd, status, burnMicroUsdPerHour, exhaustsAt, acts }) => (
        <>
          <dl class="figures">
            <div>
              <dt>Balance</dt>
              <dd>{usd(microUsd)}</dd>
            </div>
            <div>
              <dt>State</dt>
              <dd>
                <span class={`status ${status}`}>{status}</span>
              </dd>
            </div>
            <div>
              <dt>Cost per hour</dt>
              <dd>{usd(burnMicroUsdPerHour)}</dd>
            </div>
            <div>
              <dt>Credit runs out</dt>
              <dd>
                <Instant at={exhaustsAt} none="not at the current rate" />
              </dd>
            </div>
          </dl>
          {acts.length === 0 ? (
            <p class="empty">The operator has done nothing with this account yet.</p>
          ) : (
            <Table label="What the operator did" columns={["Time", "Action", "By", "Target", "From"]} isHigh>
              {acts.map((act) => (
                <tr key={act.id}>
                  <td>
                    <Instant at={act.at} />
                  </td>
                  <td>
                    <strong>{act.action}</strong> {act.status}
                  </td>
                  <td>
                    <code>{act.by}</code>
                  </td>
                  <td>{act.targetId === null ? "–" : <code>{act.targetId}</code>}</td>
                  <td>{act.sourceIp}</td>
                </tr>
              ))}
            </Table>
          )}
        </>
      )}
    </Pane>
  )
}

export const Accounts = () => {
  const loaded = useLoad("accounts", (signal) => get<OperatedAccounts>(`${base}/accounts`, signal))
  const [act, ask] = useState<Act | null>(null)
  const [opened, open] = useState<string | null>(null)
  const [turn, setTurn] = useState(0)
  const all = loaded.value?.accounts ?? []
  const shown = all.find(({ id }) => id === opened)
  const total = all.reduce((sum, { burnMicroUsdPerHour }) => sum + burnMicroUsdPerHour, 0)
  return (
    <>
      <h1>Accounts</h1>
      <p class="lead">
        {count(all.length)} accounts; {usd(total)} per hour in total.
      </p>
      <Pane
        title="All accounts"
        loaded={loaded}
        actions={
          <button type="button" class="button primary" onClick={() => ask(createAct)}>
            Create an account
          </button>
        }
      >
        {({ accounts }) => (
          <Table
            label="Accounts"
            class="operated"
            columns={["Account", "State", "Sandboxes", { number: "Cost per hour" }, "Actions"]}
            isHigh
          >
            {accounts.map((account) => (
              <Row key={account.id} account={account} ask={ask} open={() => open(account.id)} />
            ))}
          </Table>
        )}
      </Pane>
      {shown === undefined ? null : <Money account={shown} turn={turn} />}
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
