/** One account: its money, and what the operator did with it. */
import { useLayoutEffect, useRef } from "preact/hooks"
import type { OperatedAccount, OperatedMoney } from "../../../../schemas/console/Operating.ts"
import { get } from "../api.ts"
import { oneLine } from "../characterPicture.ts"
import { usd } from "../format.ts"
import { useLoad } from "../load.ts"
import { Instant } from "../ui/Instant.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"
import { base } from "./operatorSession.ts"

interface Shown {
  readonly account: OperatedAccount
  /** Changes after each act. */
  readonly turn: number
  /** Shows the account's keys, or its audit log. */
  readonly lead: (part: "Keys" | "Audit", account: string) => void
}

export const AccountDetails = ({ account, turn, lead }: Shown) => {
  const loaded = useLoad(`money ${account.id} ${turn}`, (signal) =>
    get<OperatedMoney>(`${base}/accounts/${encodeURIComponent(account.id)}/money`, signal)
  )
  const shown = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => shown.current?.focus(), [account.id])
  return (
    <div ref={shown} tabIndex={-1} class="account-details">
      <Pane
        title={`Details of ${oneLine(account.name)}`}
        loaded={loaded}
        actions={(["Keys", "Audit"] as const).map((part) => (
          <button key={part} type="button" class="button small" onClick={() => lead(part, account.id)}>
            {part}
          </button>
        ))}
      >
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
    </div>
  )
}
