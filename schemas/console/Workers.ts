/** The background workers of the process that answers, for the operator's page. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Operating } from "../Access.ts"
import { Timestamp } from "../Text.ts"

export const Worker = Schema.Struct({
  name: Schema.String,
  state: Schema.Literals(["starting", "up", "waiting", "down"]),
  waiting: Schema.NullOr(
    Schema.Struct({
      for: Schema.String.annotate({ description: "The resource that it needs." }),
      since: Timestamp,
      isOverdue: Schema.Boolean.annotate({ description: "It waits longer than it should: the process is not ready." })
    })
  ),
  restarts: Schema.Int,
  lastFault: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Worker" })
export interface Worker extends Schema.Schema.Type<typeof Worker> {}

export const WorkerPage = Schema.Struct({ workers: Schema.Array(Worker) })
export interface WorkerPage extends Schema.Schema.Type<typeof WorkerPage> {}

export class WorkersGroup extends HttpApiGroup.make("workers")
  .add(
    HttpApiEndpoint.get("listWorkers", "/workers", { success: WorkerPage }).annotateMerge(
      OpenApi.annotations({ identifier: "listWorkers", summary: "Background workers of this service" })
    )
  )
  .middleware(Operating) {}
