import type { Balance, CreditGrant } from "../../../../schemas/Usage.ts"
import { get } from "../api.ts"
import { usd } from "../format.ts"
import { useLoad } from "../load.ts"
import { isUnlimited } from "../states.ts"
import { Instant } from "../ui/Instant.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"

const Grants = ({ grants }: { grants: ReadonlyArray<CreditGrant> }) => (
  <Table
    label="Grants"
    columns={["Kind", "State", { number: "Granted" }, { number: "Remaining" }, { number: "Expired" }, "From", "Until"]}
    caption="Grants of credit"
  >
    {grants.map((grant) => (
      <tr key={grant.id}>
        <td>{grant.kind}</td>
        <td>
          <span class={`status ${grant.status}`}>{grant.status}</span>
        </td>
        <td class="number">{usd(grant.grantedMicroUsd)}</td>
        <td class="number">{usd(grant.remainingMicroUsd)}</td>
        <td class="number">{usd(grant.expiredMicroUsd)}</td>
        <td>
          <Instant at={grant.effectiveAt} />
        </td>
        <td>
          <Instant at={grant.expiresAt} none="never" />
        </td>
      </tr>
    ))}
  </Table>
)

/** Usage of an unlimited account that no credit has paid. */
const unpaidOf = ({ status, microUsd }: Balance): number | null =>
  isUnlimited(status) && microUsd < 0 ? -microUsd : null

const meaning: Readonly<Record<Balance["status"], string>> = {
  unlimited: "Usage is only recorded; no request is refused.",
  funded: "",
  low: "Less than a day of usage at the current rate, or less than 10 % of the granted credit, is left.",
  exhausted: "The credit is exhausted: Sandboxes cannot be created or started until there is credit again."
}

export const Wallet = () => {
  const loaded = useLoad("balance", (signal) => get<{ readonly balance: Balance }>("/api/v2/usage/balance", signal))
  return (
    <Pane title="Wallet" loaded={loaded}>
      {({ balance }) => (
        <>
          <dl class="figures">
            <div>
              <dt>{unpaidOf(balance) === null ? "Balance" : "Unpaid usage"}</dt>
              <dd>{usd(unpaidOf(balance) ?? balance.microUsd)}</dd>
            </div>
            <div>
              <dt>State</dt>
              <dd>
                <span class={`status ${balance.status}`}>{balance.status}</span>
              </dd>
            </div>
            <div>
              <dt>Cost per hour</dt>
              <dd>{usd(balance.burnMicroUsdPerHour)}</dd>
            </div>
            <div>
              <dt>Credit runs out</dt>
              <dd>
                <Instant
                  at={balance.exhaustsAt}
                  none={isUnlimited(balance.status) ? "unlimited" : "not at the current rate"}
                />
              </dd>
            </div>
          </dl>
          {meaning[balance.status] === "" ? null : <p class="hint">{meaning[balance.status]}</p>}
          {balance.grants.length === 0 ? null : <Grants grants={balance.grants} />}
        </>
      )}
    </Pane>
  )
}
