/** What the machine of the service that answers enforces, and what is missing: the checks of `atoll doctor`. */
import { useState } from "preact/hooks"
import type { Examined, Finding } from "../../../../schemas/console/Doctor.ts"
import { ask } from "../api.ts"
import { Form } from "../ui/Action.tsx"
import { Table } from "../ui/Table.tsx"
import { base } from "./operatorSession.ts"

const Findings = ({ findings }: { findings: ReadonlyArray<Finding> }) => (
  <Table label="Checks" class="operated" columns={["Check", "State", "Found", "Remedy"]}>
    {findings.map(({ name, state, found, mend }) => (
      <tr key={name} data-check={name}>
        <td>{name}</td>
        <td data-label="State">
          <span class={`status check-${state}`}>{state}</span>
        </td>
        <td data-label="Found" class="break">
          {found}
        </td>
        <td data-label="Remedy" class="break">
          {mend ?? "–"}
        </td>
      </tr>
    ))}
  </Table>
)

export const Doctor = () => {
  const [examined, setExamined] = useState<Examined | null>(null)
  return (
    <section class="pane" aria-label="Checks of this machine">
      <h2>Checks of this machine</h2>
      <p>
        What the machine of this service enforces, and what is missing there. It changes nothing, and takes some
        seconds.
      </p>
      <Form
        label="Run the checks"
        busyLabel="Checking …"
        submit={async () => {
          setExamined(null)
          setExamined(await ask<Examined>("POST", `${base}/doctor`))
        }}
      />
      {examined === null ? null : (
        <>
          <p class={examined.works ? "said" : "notice"} role="status">
            {examined.verdict}
          </p>
          <Findings findings={examined.findings} />
        </>
      )}
    </section>
  )
}
