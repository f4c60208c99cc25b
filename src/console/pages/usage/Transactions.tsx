import { useCallback } from "preact/hooks"
import type { WalletTransaction } from "../../../../schemas/Usage.ts"
import { get, queryOf } from "../api.ts"
import { signedUsd, usd } from "../format.ts"
import { type Page, usePages } from "../paged.ts"
import { Instant } from "../ui/Instant.tsx"
import { More } from "../ui/More.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"

interface Answer {
  readonly transactions: ReadonlyArray<WalletTransaction>
  readonly nextCursor: string | null
}

export const Transactions = () => {
  const load = useCallback(async (cursor: string | null, signal?: AbortSignal): Promise<Page<WalletTransaction>> => {
    const answer = await get<Answer>(`/api/v2/usage/transactions${queryOf({ limit: 50, cursor })}`, signal)
    return { entries: answer.transactions, nextCursor: answer.nextCursor }
  }, [])
  const listed = usePages("transactions", load)
  return (
    <Pane title="Transactions" loaded={listed}>
      {() =>
        listed.entries.length === 0 ? (
          <p class="empty">There are no transactions yet.</p>
        ) : (
          <>
            <Table label="Transactions" columns={["At", "Kind", "What", { number: "Amount" }, { number: "Balance" }]}>
              {listed.entries.map((entry) => (
                <tr key={entry.id}>
                  <td>
                    <Instant at={entry.at} />
                  </td>
                  <td>{entry.kind}</td>
                  <td>
                    <span class="break">{entry.description}</span>
                    {entry.sandboxId === null ? null : <code class="soft block">{entry.sandboxId}</code>}
                  </td>
                  <td class="number">{signedUsd(entry.microUsd)}</td>
                  <td class="number">{usd(entry.balanceMicroUsd)}</td>
                </tr>
              ))}
            </Table>
            <More list={listed} />
          </>
        )
      }
    </Pane>
  )
}
