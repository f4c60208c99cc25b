/** The audit log over all accounts: who did what. No content of Sandboxes, and no secrets. */
import { useCallback, useState } from "preact/hooks"
import type { AuditSource } from "../../../../schemas/Audit.ts"
import type { OperatedAudit as Listed, OperatedAuditEvent } from "../../../../schemas/console/OperatedAudit.ts"
import { get, queryOf } from "../api.ts"
import { oneLine } from "../characterPicture.ts"
import { EventRow, eventColumns } from "../EventRow.tsx"
import { type Page, usePages } from "../paged.ts"
import { Field, instantOf, Select } from "../ui/Field.tsx"
import { More } from "../ui/More.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"
import { base } from "./operatorSession.ts"

interface Filter {
  readonly account: string
  readonly source: string
  readonly action: string
  readonly from: string
  readonly to: string
}

const ways: Readonly<Record<AuditSource, string>> = {
  operator: "the operator",
  console: "people in the console",
  api: "the API",
  mcp: "tools for models"
}

const Filters = ({ filter, apply }: { filter: Filter; apply: (filter: Filter) => void }) => (
  <form
    class="filters"
    aria-label="Filters"
    onSubmit={(event) => {
      event.preventDefault()
      const data = new FormData(event.currentTarget)
      const text = (name: keyof Filter) => String(data.get(name)).trim()
      apply({
        account: text("account"),
        source: text("source"),
        action: text("action"),
        from: text("from"),
        to: text("to")
      })
    }}
  >
    <Select label="By" name="source" value={filter.source} options={[["", "anyone"], ...Object.entries(ways)]} />
    <Field
      label="Account"
      name="account"
      defaultValue={filter.account}
      placeholder="Name or id"
      autocomplete="off"
      spellcheck={false}
    />
    <Field label="Action" name="action" placeholder="suspendAccount" autocomplete="off" spellcheck={false} />
    <Field label="From" name="from" type="datetime-local" />
    <Field label="To" name="to" type="datetime-local" />
    <div class="buttons">
      <button type="submit" class="button">
        Filter
      </button>
    </div>
  </form>
)

const Whose = ({ account }: Pick<OperatedAuditEvent, "account">) =>
  account === null ? null : (
    <>
      <strong class="break">{oneLine(account.name ?? "no account any more")}</strong>
      <code class="soft block">{account.id}</code>
    </>
  )

/** @param of The account whose events are shown first, by any way; empty: what the operator did. */
export const OperatedAudit = ({ of }: { of: string }) => {
  const [filter, setFilter] = useState<Filter>({
    account: of,
    source: of === "" ? "operator" : "",
    action: "",
    from: "",
    to: ""
  })
  const load = useCallback(
    async (cursor: string | null, signal?: AbortSignal): Promise<Page<OperatedAuditEvent>> => {
      const query = queryOf({
        ...filter,
        from: instantOf(filter.from),
        to: instantOf(filter.to),
        limit: 100,
        cursor
      })
      const { events, nextCursor } = await get<Listed>(`${base}/audit${query}`, signal)
      return { entries: events, nextCursor }
    },
    [filter]
  )
  const listed = usePages(JSON.stringify(filter), load)
  return (
    <>
      <h1>Audit</h1>
      <p class="lead">
        Every call of every account that changes something or reads the content of a Sandbox, and all that the operator
        changed.
      </p>
      <Filters filter={filter} apply={setFilter} />
      <Pane title="Events" loaded={listed}>
        {() =>
          listed.entries.length === 0 ? (
            <p class="empty">No event matches.</p>
          ) : (
            <>
              <Table label="Events" isHigh columns={eventColumns}>
                {listed.entries.map((event) => (
                  <EventRow key={event.id} event={event}>
                    <Whose account={event.account} />
                  </EventRow>
                ))}
              </Table>
              <More list={listed} />
            </>
          )
        }
      </Pane>
    </>
  )
}
