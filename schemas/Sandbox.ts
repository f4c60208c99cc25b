/** A Sandbox: a volume, and a runtime that boots, stops and boots again. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, MayBeLarge, OptionalBody, QueryPrefix, RequiredScope } from "./Access.ts"
import { GivenCheckpoints, LastCheckpoint, SandboxCheckpoints } from "./Checkpoints.ts"
import {
  CreditExhausted,
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  RateLimited,
  SandboxLimitReached,
  SandboxUnavailable,
  ScopeRequired,
  StorageLimitReached,
  UnsupportedByRuntime,
  UnsupportedMediaType
} from "./Errors.ts"
import * as IdempotencyKey from "./IdempotencyKey.ts"
import { ImageId, SandboxId, SnapshotId, VolumeId, WorkspaceId } from "./Identifiers.ts"
import { ImageNotReady } from "./ImageErrors.ts"
import { GivenLifetime, SandboxLifetime } from "./Lifetime.ts"
import {
  metadataKeyMaxCharacters,
  metadataMaxPairs,
  metadataValueMaxCharacters,
  nameMaxCharacters,
  pageMax,
  runningWaitSeconds,
  sandboxEnvMaxBytes,
  sandboxEnvMaxPairs,
  sandboxEnvNameMaxCharacters
} from "./Limits.ts"
import { orNull, withDefault } from "./Optional.ts"
import { Cursor, integer, NextCursor, page, several } from "./Query.ts"
import { MemoryInUse, profileOfCreate, profileOfUpdate, SandboxProfile } from "./SandboxProfile.ts"
import { SandboxStatus } from "./SandboxStatus.ts"
import { SnapshotNotReady } from "./SnapshotErrors.ts"
import { isCharactersBetween, isMatching, isPlainText, Timestamp } from "./Text.ts"
import { SandboxHistory, TransitionList } from "./Transition.ts"

export const Reason = Schema.Struct({
  code: Schema.String.annotate({ description: "For programs." }),
  message: Schema.String.annotate({ description: "For people; it may change." })
}).annotate({
  identifier: "Reason",
  description: "Why something is as it is: a code for programs, a sentence for people."
})
export interface Reason extends Schema.Schema.Type<typeof Reason> {}

export const Metadata = Schema.Record(Schema.String, Schema.String).annotate({
  identifier: "Metadata",
  description: "The caller's own pairs of text, by which lists can be filtered."
})

const SandboxVolume = Schema.Struct({
  id: VolumeId,
  sizeBytes: Schema.Int.annotate({ description: "Its size, full or empty." })
}).annotate({ identifier: "SandboxVolume", description: "What holds /workspace; it stays when the Sandbox stops." })

export const SandboxRollback = Schema.Struct({
  snapshotId: SnapshotId,
  keptSnapshotId: Schema.NullOr(SnapshotId).annotate({
    description: "What its volume before became, which may be deleted meanwhile; null: that was given up."
  }),
  outcome: Schema.Literals(["open", "done", "failed"]).annotate({
    description: "open: under way. done: the volume is the snapshot's. failed: it is as it was."
  }),
  reason: Schema.NullOr(Reason).annotate({ description: "Of one that failed." }),
  requestedAt: Timestamp.annotate({ description: "When it was accepted." })
}).annotate({
  identifier: "SandboxRollback",
  description: "What became of a Sandbox's last rollback; snapshotId: whose volume it was to get."
})

export const Sandbox = Schema.Struct({
  id: SandboxId,
  workspaceId: WorkspaceId,
  name: Schema.NullOr(Schema.String).annotate({ description: "As it was given; null: none was." }),
  runtime: Schema.Literals(["vm", "namespace"]).annotate({
    description: "vm: a virtual machine. namespace: Linux namespaces on the host's kernel. Always what it really is."
  }),
  profile: SandboxProfile,
  status: SandboxStatus,
  statusReason: Schema.NullOr(Reason).annotate({
    description: "Why it has that status; null where nothing is to be said."
  }),
  networkEnabled: Schema.Boolean.annotate({ description: "Whether it reaches the internet and can have previews." }),
  volume: SandboxVolume,
  snapshotId: Schema.NullOr(SnapshotId).annotate({
    description: "The snapshot of which its volume was made, which may be deleted meanwhile; null: it started empty."
  }),
  imageId: Schema.NullOr(ImageId).annotate({
    description: "The image that is its root file system; null: its host's own."
  }),
  buildsImageId: Schema.NullOr(ImageId).annotate({
    description:
      "The image that is built in it: the service made it for that, and deletes it when the build is over. null: an ordinary Sandbox."
  }),
  generation: Schema.Int.annotate({
    description: "1 for the first boot, +1 for each later boot, and for a rollback that leaves it stopped."
  }),
  rollback: Schema.NullOr(SandboxRollback).annotate({ description: "The last rollback; null: it never had one." }),
  metadata: Metadata,
  envNames: Schema.Array(Schema.String).annotate({
    description: "The names of the variables that every command is given, sorted. Their values are never told."
  }),
  lifetime: SandboxLifetime,
  checkpoints: Schema.NullOr(SandboxCheckpoints).annotate({ description: "null: it takes no snapshots by itself." }),
  lastCheckpoint: Schema.NullOr(LastCheckpoint).annotate({ description: "null: none was due yet." }),
  createdAt: Timestamp.annotate({ description: "When it was accepted." }),
  updatedAt: Timestamp.annotate({
    description: "When its status last changed, or another start or stop was accepted while it was stopping."
  }),
  startedAt: Schema.NullOr(Timestamp).annotate({ description: "When it last came to run; null: never yet." }),
  stoppedAt: Schema.NullOr(Timestamp).annotate({ description: "When it last stopped; null: never yet." }),
  deletedAt: Schema.NullOr(Timestamp).annotate({ description: "When it was deleted; null: it is not." })
}).annotate({
  identifier: "Sandbox",
  description: "An isolated compute environment: a volume that stays, and a runtime that boots, stops and boots again."
})
export interface Sandbox extends Schema.Schema.Type<typeof Sandbox> {}

const metadataKey = Schema.String.check(isCharactersBetween(1, metadataKeyMaxCharacters), isPlainText)
const metadataValue = Schema.String.check(isCharactersBetween(0, metadataValueMaxCharacters), isPlainText)

export const SandboxName = Schema.String.check(isCharactersBetween(1, nameMaxCharacters), isPlainText)

const metadataPairs = <A extends string | null>(value: Schema.Codec<A, A>) =>
  Schema.Record(Schema.String, value).check(
    Schema.isPropertyNames(metadataKey),
    Schema.isMaxProperties(metadataMaxPairs)
  )

/** A name as POSIX has it; the shell can set and unset nothing else. */
const envName = Schema.String.check(
  isCharactersBetween(1, sandboxEnvNameMaxCharacters),
  isMatching(/^[A-Za-z_][A-Za-z0-9_]*$/, { expected: "a name of letters, digits and _, not beginning with a digit" })
)

const envBytes = (env: Readonly<Record<string, string | null>>): number =>
  new TextEncoder().encode(Object.entries(env).flat().join("")).length

const isEnvBounded = Schema.makeFilter<Readonly<Record<string, string | null>>>(
  (env) => envBytes(env) <= sandboxEnvMaxBytes,
  { expected: `names and values of at most ${sandboxEnvMaxBytes} bytes together`, toJsonSchema: () => ({}) }
)

const envPairs = <A extends string | null>(value: Schema.Codec<A, A>) =>
  Schema.Record(Schema.String, value).check(
    Schema.isPropertyNames(envName),
    Schema.isMaxProperties(sandboxEnvMaxPairs),
    isEnvBounded
  )

const envMeaning = `Variables of every command, terminal and SSH session of it; what a command itself brings wins by name. They are secrets: stored sealed, and answered by name only. At most ${sandboxEnvMaxBytes} bytes of UTF-8 together; values contain no NUL.`

/** The bounds of metadata, also after a change. */
export const SandboxMetadata = metadataPairs(metadataValue)
/** The bounds of variables, also after a change. */
export const SandboxEnv = envPairs(Schema.String.check(isPlainText))

export const CreateSandboxRequest = Schema.Struct({
  workspaceId: Schema.String.check(isCharactersBetween(1, 64), isPlainText).annotate({
    description: "An own workspace; any other gives 404."
  }),
  name: orNull(SandboxName, "For people; names need not be unique. Absent or null: none."),
  runtime: Schema.optionalKey(
    Schema.NullOr(Schema.Literals(["vm", "namespace"])).annotate({
      description:
        "Which kind of runtime it has, for good; one that this server does not offer gives 501. Absent or null: as the operator has chosen."
    })
  ),
  profile: profileOfCreate,
  networkEnabled: withDefault(Schema.Boolean, true, "Whether it reaches the internet and can have previews."),
  metadata: withDefault(SandboxMetadata, {}, "Pairs of text of your own, by which lists can be filtered."),
  env: withDefault(SandboxEnv, {}, envMeaning),
  lifetime: orNull(GivenLifetime, "What ends it by itself. Absent or null, as each part of it: nothing does."),
  checkpoints: Schema.optionalKey(
    Schema.NullOr(GivenCheckpoints).annotate({
      description: "Which snapshots it takes by itself. Absent or null, or with neither everySeconds nor onStop: none."
    })
  ),
  snapshotId: Schema.optionalKey(
    Schema.NullOr(SnapshotId).annotate({
      description:
        "An own snapshot that is ready: the volume begins as a copy of it, as large as it was, on its host. Its variables come along; those of `env` win by name. The runtime is the snapshot's. Absent or null: the volume starts empty."
    })
  ),
  imageId: Schema.optionalKey(
    Schema.NullOr(ImageId).annotate({
      description:
        "An own image that is ready: it is the root file system, for good, read-only in a namespace but for what is mounted there; in a virtual machine, what commands write there is gone with the next start. Its variables become the Sandbox's; those of `env` win by name. Its working directory, user, entry point and ports mean nothing: commands begin in /workspace. Not together with snapshotId: a snapshot brings the image of its Sandbox along. Absent or null: the host's own root."
    })
  )
}).annotate({ identifier: "CreateSandboxRequest", description: "A Sandbox to make, and in which workspace." })
export interface CreateSandboxRequest extends Schema.Schema.Type<typeof CreateSandboxRequest> {}

const changed = <A>(schema: Schema.Codec<A, A>, description: string) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate({ description }))

export const UpdateSandboxRequest = Schema.Struct({
  name: changed(SandboxName, "null: none."),
  metadata: changed(
    metadataPairs(Schema.NullOr(metadataValue)),
    `By key: a key that is not named stays, one with null is removed. null: all are. At most ${metadataMaxPairs} pairs in the end.`
  ),
  env: changed(
    envPairs(Schema.NullOr(Schema.String.check(isPlainText))),
    `${envMeaning} By name: one that is not named stays, one with null is removed. null: all are. Commands that begin afterwards get the new ones. At most ${sandboxEnvMaxPairs} in the end.`
  ),
  profile: profileOfUpdate,
  lifetime: changed(
    GivenLifetime,
    "By part: one that is absent stays, one with null is removed. null: all are. Time counts from the boot (stopAfterSeconds) and from the stop (deleteAfterStoppedSeconds), not from this change: an instant that has passed already takes effect immediately. An idle time counts from this change at the earliest."
  ),
  checkpoints: changed(
    GivenCheckpoints,
    "By part: one that is absent stays, one with null is as it would be by default. null, or neither everySeconds nor onStop in the end: none are taken; those that there are stay until the Sandbox is deleted. everySeconds counts from this change."
  )
}).annotate({
  identifier: "UpdateSandboxRequest",
  description: "A JSON Merge Patch (RFC 7396): what is absent stays as it is, null removes."
})
export interface UpdateSandboxRequest extends Schema.Schema.Type<typeof UpdateSandboxRequest> {}

/** A struct without fields would take any object, with every option of the parser. */
const hasNoFields = Schema.makeFilter<object>(
  (given) => Object.keys(given).map((key) => ({ path: [key], issue: "Not known. There are none." })),
  { expected: "no fields", toJsonSchema: () => ({}) }
)

export const StartSandboxRequest = Schema.Struct({}).check(hasNoFields).annotate({
  identifier: "StartSandboxRequest",
  description: "No fields today. An absent body means {}."
})

export const SandboxResponse = Schema.Struct({ sandbox: Sandbox }).annotate({
  identifier: "SandboxResponse",
  description: "One Sandbox."
})
export interface SandboxResponse extends Schema.Schema.Type<typeof SandboxResponse> {}

export const SandboxList = Schema.Struct({
  sandboxes: Schema.Array(Sandbox).annotate({ description: "One page, or all where no page was asked for." }),
  nextCursor: NextCursor
}).annotate({
  identifier: "SandboxList",
  description: "Newest first, deleted ones included."
})
export interface SandboxList extends Schema.Schema.Type<typeof SandboxList> {}

/** `metadata.KEY=VALUE` filters come beside these and are read from the query itself. */
const listQuery = {
  status: Schema.optionalKey(
    several(SandboxStatus, "Only those in one of these: the parameter repeated, or commas between them.")
  ),
  workspaceId: Schema.optionalKey(
    Schema.String.check(isPlainText).annotate({ description: "Only those in this one." })
  ),
  limit: Schema.optionalKey(
    integer(
      { minimum: 1, maximum: pageMax },
      { description: "Most entries of one page. Without limit and cursor, all are listed; with a cursor alone, 100." }
    )
  ),
  cursor: Schema.optionalKey(Cursor)
}

const waitQuery = {
  wait: Schema.optionalKey(
    Schema.Literal("running").annotate({
      description: `Answers once it runs, or will not by itself, or after ${runningWaitSeconds} s, with the status that it has.`
    })
  )
}

const sandboxParams = { id: SandboxId }
const reached = [NotFound, UnsupportedByRuntime, SandboxUnavailable] as const
const limits = [CreditExhausted, SandboxLimitReached, StorageLimitReached] as const
const jsonBody = [InvalidRequest, PayloadTooLarge, UnsupportedMediaType] as const

export class SandboxesGroup extends HttpApiGroup.make("sandboxes")
  .add(
    HttpApiEndpoint.get("listSandboxes", "/sandboxes", {
      query: listQuery,
      success: SandboxList,
      error: [InvalidRequest, RateLimited]
    })
      .annotate(MayBeLarge, true)
      .annotate(RequiredScope, "sandbox:read")
      .annotate(QueryPrefix, "metadata.")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listSandboxes",
          summary: "List Sandboxes, active and deleted",
          description:
            "Filters are optional and all must match. `metadata.KEY=VALUE` (any number of them) matches Sandboxes whose metadata has that pair."
        })
      ),
    HttpApiEndpoint.post("createSandbox", "/sandboxes", {
      headers: IdempotencyKey.ofCreate,
      query: waitQuery,
      payload: CreateSandboxRequest,
      success: [
        SandboxResponse.annotate({ description: "It is made; status says what it is now." }).pipe(
          HttpApiSchema.status(201)
        ),
        SandboxResponse.annotate({ description: "Accepted durably; it is being made." }).pipe(HttpApiSchema.status(202))
      ],
      error: [...jsonBody, ...limits, IdempotencyConflict, SnapshotNotReady, ImageNotReady, ...reached]
    })
      .annotate(RequiredScope, "sandbox:create")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createSandbox",
          summary: "Create a Sandbox",
          description: `Answers 202 immediately with a pending Sandbox. With \`wait=running\`, the first answer is like that of a repeated request: 201 as soon as it runs (or has failed, stopped or been deleted meanwhile: see its status), 429 when a limit refused it, or after ${runningWaitSeconds} s, 202 if it is still pending. A repeated Idempotency-Key recovers the same Sandbox: 202 while pending, 201 afterwards with the status that it has, 429 with the reason when a limit refused it; 409 with another request. A limit that is known before the boot answers 429, used up credit 402, networkEnabled on a server whose Sandboxes cannot have a network 501, a runtime that it does not offer 501, and each keeps nothing. With snapshotId: 404 for a snapshot that is not the account's, 409 for one that is not ready, 400 for another runtime than its own. Of a snapshot with memory it goes on with the processes that are in it, under its own id, host name, machine id, random numbers and clock; it has that machine's vCPUs, memory and network, else 400. Its connections to other hosts are broken. No operation of it names those processes: they are in its list of processes, and end with its next stop. Where the host's virtual machine software has changed since, it boots from the volume alone. A Sandbox whose snapshot turns out to be lost before its first boot is \`failed\`, with the reason.`
        })
      ),
    HttpApiEndpoint.get("getSandbox", "/sandboxes/:id", {
      params: sandboxParams,
      success: SandboxResponse,
      error: reached
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getSandbox",
          summary: "Get a Sandbox",
          description: "Deleted ones stay readable for the retention time."
        })
      ),
    HttpApiEndpoint.patch("updateSandbox", "/sandboxes/:id", {
      params: sandboxParams,
      payload: UpdateSandboxRequest,
      success: SandboxResponse,
      error: [...jsonBody, ScopeRequired, SandboxLimitReached, StorageLimitReached, MemoryInUse, ...reached]
    })
      .annotate(RequiredScope, "sandbox:create")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "updateSandbox",
          summary: "Change a Sandbox's name, metadata, variables, sizes, lifetime or checkpoints",
          description:
            "All of it or nothing, in every state except deleting, deleted and expired. Changes of several callers are applied one after the other, each by key. To set deleteAfterStoppedSeconds the key also needs the scope `sandbox:delete`. A larger volume must fit the workspace's storage, else 429. Repeated: the same. deleting, expired: 502."
        })
      ),
    HttpApiEndpoint.delete("deleteSandbox", "/sandboxes/:id", { params: sandboxParams, error: reached })
      .annotate(RequiredScope, "sandbox:delete")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "deleteSandbox",
          summary: "Delete a Sandbox and its volume",
          description:
            "Durable immediately, and never undone. Answers when the volume is gone, or after 10 s while the deletion goes on. Repeated: 204."
        })
      ),
    HttpApiEndpoint.post("startSandbox", "/sandboxes/:id/start", {
      params: sandboxParams,
      headers: IdempotencyKey.ofStart,
      query: waitQuery,
      payload: StartSandboxRequest,
      success: SandboxResponse.pipe(HttpApiSchema.status(201)),
      error: [...jsonBody, ...limits, ...reached]
    })
      .annotate(RequiredScope, "sandbox:create")
      .annotate(OptionalBody, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "startSandbox",
          summary: "Start a Sandbox",
          description:
            "running: the same runtime. stopped or sleeping: boots or wakes it with its volume, and answers once it runs, or after 20 s (with `wait=running`: 30 s) with the status it has. pending: waited for likewise, then 201 with pending if it still is. A limit refuses the boot: 429. expired or failed, or its volume is on a host that cannot be reached or takes none now: 502, with a sentence. A repeated Idempotency-Key boots once."
        })
      ),
    HttpApiEndpoint.post("stopSandbox", "/sandboxes/:id/stop", {
      params: sandboxParams,
      payload: StartSandboxRequest,
      success: SandboxResponse,
      error: [...jsonBody, ...reached]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotate(OptionalBody, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "stopSandbox",
          summary: "Stop a Sandbox and keep its volume",
          description:
            "Its running operations become failed; previews and accesses close. Answers once it is stopped, or after 20 s with the status it has. Repeated: 200. expired or failed: 502."
        })
      ),
    HttpApiEndpoint.get("listSandboxTransitions", "/sandboxes/:id/transitions", {
      params: sandboxParams,
      query: page,
      success: TransitionList,
      error: [InvalidRequest, RateLimited, ...reached]
    })
      .annotate(MayBeLarge, true)
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listSandboxTransitions",
          summary: "The transition log of a Sandbox",
          description: "Every step of its state machine, from its creation on. It is kept as long as the Sandbox."
        })
      ),
    HttpApiEndpoint.get("listSandboxHistory", "/sandboxes/:id/history", {
      params: sandboxParams,
      query: page,
      success: SandboxHistory,
      error: [InvalidRequest, RateLimited, ...reached]
    })
      .annotate(MayBeLarge, true)
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listSandboxHistory",
          summary: "The transition logs of all that lived in a Sandbox",
          description:
            "Operations, previews, service accesses, connection grants and the Sandbox's snapshots, each with every step of it, as the Sandbox's event stream tells them: open the stream first, then read this, and nothing falls between. The thing that was made last comes first; the steps of each are in their order. What ended is kept for the retention time. The Sandbox's own log is `GET /sandboxes/{id}/transitions`."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(OpenApi.annotations({ title: "Sandboxes", description: "Isolated compute environments." })) {}
