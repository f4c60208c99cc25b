/** Aggregates of one logical Sandbox over a window of time. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authorized, RequiredScope } from "./Access.ts"
import { InvalidRequest, NotFound, RateLimited } from "./Errors.ts"
import { SandboxId } from "./Identifiers.ts"
import {
  analyticsResolutionDefaultSeconds,
  analyticsResolutionMaxSeconds,
  analyticsResolutionMinSeconds,
  offsetMax
} from "./Limits.ts"
import { instant, integer, integerWithDefault } from "./Query.ts"
import { Timestamp } from "./Text.ts"

const measured = (unit: Schema.Codec<number, number>, description: string) =>
  Schema.NullOr(unit).annotate({ description: `${description} Null: not measured.` })

export const ResourceSample = Schema.Struct({
  at: Timestamp.annotate({ description: "The begin of the bucket." }),
  cpuSeconds: measured(Schema.Finite, "CPU time used within the bucket."),
  memoryBytes: measured(Schema.Int, "Mean memory in use."),
  volumeBytes: measured(Schema.Int, "Volume in use at the bucket's last sample."),
  networkRxBytes: measured(Schema.Int, "Bytes received within the bucket."),
  networkTxBytes: measured(Schema.Int, "Bytes sent within the bucket.")
}).annotate({ identifier: "ResourceSample" })

export const SandboxAnalytics = Schema.Struct({
  sandboxId: Schema.String,
  from: Timestamp,
  to: Timestamp,
  resolutionSeconds: Schema.Int,
  generation: Schema.NullOr(Schema.Int),
  lifecycle: Schema.Struct({
    createdAt: Timestamp,
    deletedAt: Schema.NullOr(Timestamp),
    boots: Schema.Int.annotate({ description: "Generations that came up within the window." }),
    runningSeconds: Schema.Finite.annotate({ description: "Time in status running within the window." }),
    transitions: Schema.Array(
      Schema.Struct({
        at: Timestamp,
        from: Schema.NullOr(Schema.String),
        to: Schema.String,
        reason: Schema.NullOr(Schema.String)
      })
    ).annotate({ description: "Status changes within the window; the newest 10,000." })
  }),
  operations: Schema.Struct({
    started: Schema.Int,
    completed: Schema.Int,
    cancelled: Schema.Int,
    failed: Schema.Int,
    executeCount: Schema.Int,
    medianDurationMs: Schema.NullOr(Schema.Finite).annotate({ description: "Of completed operations and executes." }),
    p99DurationMs: Schema.NullOr(Schema.Finite)
  }),
  resources: Schema.Struct({ samples: Schema.Array(ResourceSample) })
}).annotate({ identifier: "SandboxAnalytics" })
export interface SandboxAnalytics extends Schema.Schema.Type<typeof SandboxAnalytics> {}

const query = {
  from: Schema.optionalKey(instant("Begin of the window; 24 hours before `to` by default.")),
  to: Schema.optionalKey(instant("End of the window, exclusive; now by default.")),
  resolutionSeconds: integerWithDefault(
    { minimum: analyticsResolutionMinSeconds, maximum: analyticsResolutionMaxSeconds },
    analyticsResolutionDefaultSeconds,
    "Length of one bucket."
  ),
  generation: Schema.optionalKey(
    integer({ minimum: 1, maximum: offsetMax }, { description: "Only what belongs to this boot." })
  )
}

export class AnalyticsGroup extends HttpApiGroup.make("analytics")
  .add(
    HttpApiEndpoint.get("readAnalytics", "/sandboxes/:id/analytics", {
      params: { id: SandboxId },
      query,
      success: Schema.Struct({ analytics: SandboxAnalytics }),
      error: [InvalidRequest, NotFound, RateLimited]
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "readAnalytics",
          summary: "Lifecycle, operations and resources of a Sandbox",
          description:
            "At most 2,000 buckets an answer, else 400. Requests of one account are limited in each minute: 429 with Retry-After. Every bucket of the window is listed; one in which nothing was measured holds nulls, never zeros."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(OpenApi.annotations({ title: "Analytics", description: "What a Sandbox did and used." })) {}
