/** The prices of a second, by time. */
import { useState } from "preact/hooks"
import type { OperatedRates } from "../../../../schemas/console/OperatedInstallation.ts"
import { get } from "../api.ts"
import { count } from "../format.ts"
import { useLoad } from "../load.ts"
import { Field } from "../ui/Field.tsx"
import { Instant } from "../ui/Instant.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"
import { type Act, ActDialog, textIn } from "./ActDialog.tsx"
import { base } from "./operatorSession.ts"

const setAct: Act = {
  title: "Set rates",
  label: "Set the rates",
  path: "/rates",
  means: "The rates hold from an instant on. Earlier usage keeps its price, and a card never changes.",
  fields: (
    <>
      <Field label="vCPU-second, nano-dollars" name="vcpuSecond" required autocomplete="off" />
      <Field label="GiB-second of memory, nano-dollars" name="memoryGibSecond" required autocomplete="off" />
      <Field label="GiB-second of volume, nano-dollars" name="volumeGibSecond" required autocomplete="off" />
      <Field
        label="GiB-second of snapshots, nano-dollars"
        name="snapshotGibSecond"
        hint="Empty: as of volume."
        autocomplete="off"
      />
      <Field label="Effective at" name="effectiveAt" hint="2027-01-31T12:00:00Z; empty: now." autocomplete="off" />
    </>
  ),
  body: (data) => ({
    vcpuSecond: textIn(data, "vcpuSecond") ?? "",
    memoryGibSecond: textIn(data, "memoryGibSecond") ?? "",
    volumeGibSecond: textIn(data, "volumeGibSecond") ?? "",
    snapshotGibSecond: textIn(data, "snapshotGibSecond"),
    effectiveAt: textIn(data, "effectiveAt")
  })
}

export const Rates = () => {
  const loaded = useLoad("rates", (signal) => get<OperatedRates>(`${base}/rates`, signal))
  const [act, ask] = useState<Act | null>(null)
  return (
    <>
      <h1>Rates</h1>
      <Pane
        title="Rates by time"
        loaded={loaded}
        actions={
          <button type="button" class="button primary" onClick={() => ask(setAct)}>
            Set rates
          </button>
        }
      >
        {({ rates }) => (
          <Table
            label="Rates"
            caption="Nano-dollars a second; the cost of a Sandbox of the settings' size"
            columns={[
              "From",
              { number: "vCPU" },
              { number: "GiB of memory" },
              { number: "GiB of volume" },
              { number: "GiB of snapshots" },
              { number: "Running, an hour" },
              { number: "Stopped, an hour" }
            ]}
          >
            {rates.map((card) => (
              <tr key={card.effectiveAt}>
                <td>{Date.parse(card.effectiveAt) === 0 ? "the beginning" : <Instant at={card.effectiveAt} />}</td>
                <td class="number">{count(card.vcpuSecondNanoUsd)}</td>
                <td class="number">{count(card.memoryGibSecondNanoUsd)}</td>
                <td class="number">{count(card.volumeGibSecondNanoUsd)}</td>
                <td class="number">{count(card.snapshotGibSecondNanoUsd)}</td>
                <td class="number">${card.runningUsdPerHour}</td>
                <td class="number">${card.stoppedUsdPerHour}</td>
              </tr>
            ))}
          </Table>
        )}
      </Pane>
      {act === null ? null : <ActDialog act={act} close={() => ask(null)} done={loaded.reload} />}
    </>
  )
}
