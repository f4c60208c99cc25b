/** The audit log. */
import { useCallback, useState } from "preact/hooks"
import type { AuditEvent } from "../../../schemas/Audit.ts"
import { get, queryOf } from "./api.ts"
import { EventRow, eventColumns } from "./EventRow.tsx"
import { type Page, usePages } from "./paged.ts"
import { Field, instantOf } from "./ui/Field.tsx"
import { More } from "./ui/More.tsx"
import { Pane } from "./ui/Pane.tsx"
import { Table } from "./ui/Table.tsx"

interface Filter {
  readonly action: string
  readonly sandboxId: string
  readonly from: string
  readonly to: string
}

const everything: Filter = { action: "", sandboxId: "", from: "", to: "" }

const Filters = ({ apply, reset }: { apply: (filter: Filter) => void; reset: () => void }) => (
  <form
    class="filters"
    aria-label="Filters"
    onSubmit={(event) => {
      event.preventDefault()
      const data = new FormData(event.currentTarget)
      const text = (name: keyof Filter) => String(data.get(name)).trim()
      apply({ action: text("action"), sandboxId: text("sandboxId"), from: text("from"), to: text("to") })
    }}
    onReset={reset}
  >
    <Field label="Action" name="action" placeholder="createSandbox" autocomplete="off" spellcheck={false} />
    <Field label="Sandbox" name="sandboxId" placeholder="sbx_…" autocomplete="off" spellcheck={false} />
    <Field label="From" name="from" type="datetime-local" />
    <Field label="To" name="to" type="datetime-local" />
    <div class="buttons">
      <button type="submit" class="button">
        Filter
      </button>
      <button type="reset" class="button">
        Reset
      </button>
    </div>
  </form>
)

export const Audit = () => {
  const [filter, setFilter] = useState(everything)
  const load = useCallback(
    async (cursor: string | null, signal?: AbortSignal): Promise<Page<AuditEvent>> => {
      const { action, sandboxId } = filter
      const query = queryOf({
        action,
        sandboxId,
        from: instantOf(filter.from),
        to: instantOf(filter.to),
        limit: 100,
        cursor
      })
      const answer = await get<{ events: ReadonlyArray<AuditEvent>; nextCursor: string | null }>(
        `/api/v2/usage/audit${query}`,
        signal
      )
      return { entries: answer.events, nextCursor: answer.nextCursor }
    },
    [filter]
  )
  const listed = usePages(JSON.stringify(filter), load)
  return (
    <>
      <h1>Audit</h1>
      <p class="lead">
        Every call that changes something or reads the content of a Sandbox, refused ones too. An event appears within
        about a second.
      </p>
      <Filters apply={setFilter} reset={() => setFilter(everything)} />
      <Pane title="Events" loaded={listed}>
        {() =>
          listed.entries.length === 0 ? (
            <p class="empty">No event matches.</p>
          ) : (
            <>
              <Table label="Events" isHigh columns={eventColumns}>
                {listed.entries.map((event) => (
                  <EventRow key={event.id} event={event} />
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
