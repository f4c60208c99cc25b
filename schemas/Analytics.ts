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
}).annotate({ identifier: "ResourceSample", description: "What a Sandbox used in one bucket." })

export const SandboxAnalytics = Schema.Struct({
  sandboxId: Schema.String.annotate({ description: "The Sandbox." }),
  from: Timestamp.annotate({ description: "The begin of the window." }),
  to: Timestamp.annotate({ description: "The end of the window, exclusive." }),
  resolutionSeconds: Schema.Int.annotate({ description: "Length of one bucket." }),
  generation: Schema.NullOr(Schema.Int).annotate({ description: "The one boot that it is of; null: all." }),
  lifecycle: Schema.Struct({
    createdAt: Timestamp.annotate({ description: "When the Sandbox was accepted." }),
    deletedAt: Schema.NullOr(Timestamp).annotate({ description: "When it was deleted; null: it is not." }),
    boots: Schema.Int.annotate({ description: "Generations that came up within the window." }),
    runningSeconds: Schema.Finite.annotate({ description: "Time in status running within the window." }),
    transitions: Schema.Array(
      Schema.Struct({
        at: Timestamp.annotate({ description: "When it changed." }),
        from: Schema.NullOr(Schema.String).annotate({ description: "The status before; null for the first." }),
        to: Schema.String.annotate({ description: "The status after." }),
        reason: Schema.NullOr(Schema.String).annotate({
          description: "The code of the reason; null where there is none."
        })
      })
    ).annotate({ description: "Status changes within the window; the newest 10,000." })
  }).annotate({ description: "What became of the Sandbox." }),
  operations: Schema.Struct({
    started: Schema.Int.annotate({ description: "Operations that were started within the window." }),
    completed: Schema.Int.annotate({ description: "Of these, completed by now." }),
    cancelled: Schema.Int.annotate({ description: "Of these, cancelled." }),
    failed: Schema.Int.annotate({ description: "Of these, failed." }),
    executeCount: Schema.Int.annotate({ description: "Synchronous commands within the window." }),
    medianDurationMs: Schema.NullOr(Schema.Finite).annotate({ description: "Of completed operations and executes." }),
    p99DurationMs: Schema.NullOr(Schema.Finite).annotate({ description: "Of them, too: 99 of 100 took no longer." })
  }).annotate({ description: "What was run in it." }),
  resources: Schema.Struct({
    samples: Schema.Array(ResourceSample).annotate({ description: "Every bucket of the window, oldest first." })
  }).annotate({ description: "What it used." })
}).annotate({
  identifier: "SandboxAnalytics",
  description: "What one Sandbox did and used within a window."
})
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
      success: Schema.Struct({ analytics: SandboxAnalytics }).annotate({
        identifier: "AnalyticsResponse",
        description: "A Sandbox's analytics."
      }),
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
