/** The log of a Sandbox: output of its commands and its console. */
import { useMemo, useState } from "preact/hooks"
import type { OperationList } from "../../../../../schemas/Operation.ts"
import { get } from "../../api.ts"
import { count } from "../../format.ts"
import { useLoad } from "../../load.ts"
import { shortCommand } from "../../operation/commandText.ts"
import "../../operation/operation.css"
import { Fault } from "../../ui/Fault.tsx"
import { Field, Select } from "../../ui/Field.tsx"
import { Link } from "../../ui/Link.tsx"
import { Live } from "../../ui/Live.tsx"
import { WindowedRows } from "../../ui/WindowedRows.tsx"
import type { TabProps } from "../TabProps.ts"
import type { Line } from "./lines.ts"
import "./logs.css"
import { type LogFilter, useLog } from "./useLog.ts"

/** As in logs.css. */
const rowHeight = 26
const commandMaxCharacters = 60

const everything: LogFilter = { stream: "", source: "", operationId: "", since: "", until: "" }

const streams = [
  ["", "Both"],
  ["stdout", "stdout"],
  ["stderr", "stderr"]
] as const

const sources = [
  ["", "Any"],
  ["workload", "console"],
  ["execute", "synchronous commands"],
  ["process", "operations"]
] as const

const clock = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3
})
const day = new Intl.DateTimeFormat("en-GB", { day: "2-digit", month: "short" })

const At = ({ at }: { at: string }) => (
  <time dateTime={at} title={at}>
    <span class="day">{day.format(new Date(at))} </span>
    {clock.format(new Date(at))}
  </time>
)

const sourceOf = ({ source, operationId }: Line["entry"], sandboxId: string) => {
  if (operationId === null) return source === "workload" ? "console" : "command"
  return <Link to={`/sandboxes/${sandboxId}/operations/${operationId}`}>op_…{operationId.slice(-6)}</Link>
}

const cellsOf = ({ entry, runs }: Line, sandboxId: string) => [
  <At key="at" at={entry.at} />,
  entry.stream,
  sourceOf(entry, sandboxId),
  <span key="text" class={`line ${entry.stream}`}>
    {runs.map(({ text, look }, index) =>
      look === "" ? (
        text
      ) : (
        <span key={index} class={look}>
          {text}
        </span>
      )
    )}
  </span>
]

/** Converts the value of a local-time field to an instant. */
const instantOf = (local: string): string => (local === "" ? "" : new Date(local).toISOString())

export const Logs = ({ sandbox }: TabProps) => {
  const [filter, setFilter] = useState<LogFilter>(everything)
  const [words, setWords] = useState("")
  const [turn, setTurn] = useState(0)
  const [isAtEnd, setAtEnd] = useState(true)
  const log = useLog(sandbox.id, filter)
  const operations = useLoad(`operations ${sandbox.id}`, (signal) =>
    get<OperationList>(`/api/v2/sandboxes/${sandbox.id}/operations?limit=100`, signal)
  )
  const change = (changed: Partial<LogFilter>) => setFilter((before) => ({ ...before, ...changed }))
  const lines = log.lines ?? []
  const shown = useMemo(() => {
    const wanted = words.toLowerCase()
    return wanted === "" ? lines : lines.filter(({ plain }) => plain.includes(wanted))
  }, [log.lines, words])
  return (
    <section class="pane logs" aria-labelledby="logs" aria-busy={log.lines === null && log.fault === null}>
      <header class="pane-head">
        <h2 id="logs">Log</h2>
        {log.feed === null ? null : <Live feed={log.feed} at={log.at} />}
        <button type="button" class="button small" onClick={log.reload} aria-label="Refresh: Log">
          Refresh
        </button>
      </header>
      <search class="filters">
        <Select
          label="Stream"
          name="stream"
          value={filter.stream}
          options={streams}
          onChoice={(stream) => change({ stream })}
        />
        <Select
          label="Written by"
          name="source"
          value={filter.source}
          options={sources}
          onChoice={(source) => change({ source, ...(source === "process" ? {} : { operationId: "" }) })}
        />
        {filter.source === "" || filter.source === "process" ? (
          <Select
            label="Operation"
            name="operation"
            value={filter.operationId}
            options={[
              ["", "Any"],
              ...(operations.value?.operations ?? []).map(
                ({ id, argv }) => [id, `${shortCommand(argv, commandMaxCharacters)} (${id.slice(-6)})`] as const
              )
            ]}
            onChoice={(operationId) => change({ operationId })}
          />
        ) : null}
        <Field label="From" type="datetime-local" onText={(local) => change({ since: instantOf(local) })} />
        <Field label="Until" type="datetime-local" onText={(local) => change({ until: instantOf(local) })} />
        <Field label="Contains" type="search" placeholder="In the loaded lines" value={words} onText={setWords} />
      </search>
      <Fault fault={operations.fault} retry={operations.reload} />
      <Fault fault={log.fault} retry={log.reload} />
      {log.feed?.state === "refused" ? (
        <p class="empty">The service has no log of this Sandbox.</p>
      ) : log.lines === null ? (
        log.fault === null ? (
          <p class="waiting">Loading …</p>
        ) : null
      ) : (
        <>
          <div class="pane-head">
            <p class="found">
              {words === "" ? count(lines.length) : `${count(shown.length)} of ${count(lines.length)}`}{" "}
              {lines.length === 1 ? "line" : "lines"}
              {log.feed === null ? "" : isAtEnd ? ", following" : ", not following: you are viewing older lines"}
            </p>
            {log.hasOlder && !log.isFull ? (
              <button
                type="button"
                class="button small"
                onClick={() => void log.older()}
                aria-disabled={log.isLoadingOlder}
              >
                {log.isLoadingOlder ? "Loading …" : "Show older"}
              </button>
            ) : null}
            {isAtEnd || shown.length === 0 ? null : (
              <button type="button" class="button small" onClick={() => setTurn((before) => before + 1)}>
                Jump to the newest
              </button>
            )}
          </div>
          {log.hasOlder && log.isFull ? (
            <p class="hint">This page holds {count(lines.length)} lines. Use From and Until to find older ones.</p>
          ) : null}
          {shown.length === 0 ? (
            <p class="empty">
              {lines.length > 0
                ? "No loaded line contains that."
                : filter === everything
                  ? "Nothing has been written yet, or it has been deleted by retention."
                  : "No line matches the filters."}
            </p>
          ) : (
            <WindowedRows
              label="Lines of the log"
              layout="of-log"
              rowHeight={rowHeight}
              columns={["At", "Stream", "Written by", "Text"]}
              rows={shown}
              keyOf={({ key }) => key}
              tail={{ turn, told: setAtEnd }}
              cells={(line) => cellsOf(line, sandbox.id)}
            />
          )}
        </>
      )}
    </section>
  )
}
