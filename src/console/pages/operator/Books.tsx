/** The check of the books: all costs and payments, computed again from the whole log. */
import { useState } from "preact/hooks"
import type { Verified } from "../../../../schemas/console/OperatedUsage.ts"
import { ask } from "../api.ts"
import { Form } from "../ui/Action.tsx"
import { Field } from "../ui/Field.tsx"
import { Table } from "../ui/Table.tsx"
import { textIn } from "./ActDialog.tsx"
import { base } from "./operatorSession.ts"

const Differences = ({ of: { differences, differencesCount } }: { of: Verified }) => (
  <>
    <Table label="Differences" columns={["Difference", "Account", "Of", "Expected", "Found"]} isHigh>
      {differences.map(({ what, accountId, id, expected, found }) => (
        <tr key={`${what} ${accountId} ${id}`}>
          <td>{what}</td>
          <td>{accountId === null ? "–" : <code>{accountId}</code>}</td>
          <td>{id === null ? "–" : <code>{id}</code>}</td>
          <td>{expected}</td>
          <td>{found}</td>
        </tr>
      ))}
    </Table>
    {differencesCount > differences.length ? <p>and {differencesCount - differences.length} more</p> : null}
  </>
)

export const Books = () => {
  const [verified, setVerified] = useState<Verified | null>(null)
  return (
    <>
      <h1>Usage</h1>
      <p class="lead">
        Each account's cost per hour is on its line under Accounts. Here all costs and payments are computed again from
        the whole log, and compared with the books.
      </p>
      <section class="pane" aria-label="Verify the books">
        <p>
          It changes nothing, and may run beside the service. A million transitions take about 15 seconds; this page
          waits for it.
        </p>
        <Form
          label="Verify the books"
          busyLabel="Verifying …"
          submit={async (data) => {
            setVerified(null)
            const body = { account: textIn(data, "account") }
            setVerified(await ask<Verified>("POST", `${base}/usage/verify`, { body }))
          }}
        >
          <Field label="Account" name="account" hint="Its name or id; empty: all accounts." autocomplete="off" />
        </Form>
        {verified === null ? null : (
          <>
            <p class={verified.differencesCount === 0 ? "said" : "notice"} role="status">
              {verified.said}
            </p>
            {verified.differencesCount === 0 ? null : <Differences of={verified} />}
          </>
        )}
      </section>
    </>
  )
}
