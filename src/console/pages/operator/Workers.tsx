/** Background workers of the service that answers: those that do not run, and what they wait for. */
import type { Worker, WorkerPage } from "../../../../schemas/console/Workers.ts"
import { get } from "../api.ts"
import { Live } from "../ui/Live.tsx"
import { Pane } from "../ui/Pane.tsx"
import { feedOf, useFollowed } from "./followed.ts"
import { base } from "./operatorSession.ts"

const remarkOf = ({ waiting, lastFault, state }: Worker): string => {
  if (waiting !== null) {
    const since = `It has been waiting for ${waiting.for} since ${waiting.since}.`
    return waiting.isOverdue ? `${since} This service is not ready.` : since
  }
  return state === "down" && lastFault !== null ? `It ended (${lastFault}) and is being restarted.` : ""
}

export const Workers = () => {
  const loaded = useFollowed("workers", (signal) => get<WorkerPage>(`${base}/workers`, signal))
  return (
    <Pane title="Workers of this service" loaded={loaded} age={<Live feed={feedOf(loaded)} at={loaded.at} />}>
      {({ workers }) => {
        const idle = workers.filter(({ state }) => state !== "up")
        return idle.length === 0 ? (
          <p class="empty">All {workers.length} background workers run.</p>
        ) : (
          <table>
            <thead>
              <tr>
                <th scope="col">Worker</th>
                <th scope="col">State</th>
                <th scope="col">Remark</th>
              </tr>
            </thead>
            <tbody>
              {idle.map((worker) => (
                <tr key={worker.name} data-worker={worker.name}>
                  <td>{worker.name}</td>
                  <td>
                    <span class={`status worker-${worker.state}`}>{worker.state}</span>
                  </td>
                  <td>{remarkOf(worker)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }}
    </Pane>
  )
}
