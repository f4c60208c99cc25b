/** Images that are built of a Dockerfile, and the output of a build. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { ReadsContent, RequiredScope } from "./Access.ts"
import {
  ArchiveIncomplete,
  CreditExhausted,
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  RateLimited,
  SandboxLimitReached,
  SandboxUnavailable,
  ServiceUnavailable,
  StorageFull,
  StorageLimitReached,
  UnsupportedByRuntime,
  UnsupportedMediaType
} from "./Errors.ts"
import { archiveBody } from "./Files.ts"
import * as IdempotencyKey from "./IdempotencyKey.ts"
import { ImageId, SnapshotId } from "./Identifiers.ts"
import { ImageLimitReached, ImageUploadsReached } from "./ImageErrors.ts"
import { ImageResponse } from "./ImageRecord.ts"
import {
  buildArgsMaxBytes,
  buildArgsMaxPairs,
  buildTargetMaxCharacters,
  dockerfileMaxBytes,
  pathMaxCharacters,
  sandboxEnvNameMaxCharacters
} from "./Limits.ts"
import { OperationOutputChunk, outputQuery, outputStreamHeaders, outputStreamQuery } from "./Operation.ts"
import { orNull } from "./Optional.ts"
import { repeated } from "./Query.ts"
import { SandboxName } from "./Sandbox.ts"
import { GivenProfile } from "./SandboxProfile.ts"
import { SnapshotNotReady } from "./SnapshotErrors.ts"
import { isCharactersBetween, isMatching, isPlainText } from "./Text.ts"

const bytesOf = (text: string) => new TextEncoder().encode(text).length

export const DockerfileText = Schema.String.check(
  isPlainText,
  Schema.makeFilter<string>((text) => text.length > 0 && bytesOf(text) <= dockerfileMaxBytes, {
    expected: `between 1 and ${dockerfileMaxBytes} bytes of UTF-8`,
    toJsonSchema: () => ({ minLength: 1, maxLength: dockerfileMaxBytes })
  })
)

const Target = Schema.String.check(
  isCharactersBetween(1, buildTargetMaxCharacters),
  isMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, { expected: "the name or the number of a stage" })
)

const argName = Schema.String.check(
  isCharactersBetween(1, sandboxEnvNameMaxCharacters),
  isMatching(/^[A-Za-z_][A-Za-z0-9_]*$/, { expected: "a name of letters, digits and _, not beginning with a digit" })
)

const areBounded = Schema.makeFilter<Readonly<Record<string, string>>>(
  (args) => bytesOf(Object.entries(args).flat().join("")) <= buildArgsMaxBytes,
  { expected: `at most ${buildArgsMaxBytes} bytes together`, toJsonSchema: () => ({}) }
)

export const BuildArgs = Schema.Record(Schema.String, Schema.String.check(isPlainText)).check(
  Schema.isPropertyNames(argName),
  Schema.isMaxProperties(buildArgsMaxPairs),
  areBounded
)

const Registry = Schema.String.check(
  isCharactersBetween(1, 261),
  isMatching(/^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?$/, {
    expected: "a host, with a port or without"
  })
)

const WorkspaceOfBuild = Schema.String.check(isCharactersBetween(1, 64), isPlainText)
const workspaceMeaning =
  "The own workspace that the build's Sandbox is in. Absent or null: that of the snapshot, else the account's oldest one."

/** Of a request that builds. */
export const buildFields = {
  dockerfile: orNull(
    DockerfileText,
    `The text of a Dockerfile of which the image is built, at most ${dockerfileMaxBytes} bytes. Either this or \`reference\`.`
  ),
  contextSnapshotId: orNull(
    SnapshotId,
    "An own snapshot that is ready, without memory: its /workspace is the context. Absent or null: the context is empty."
  ),
  target: orNull(Target, "The stage to build, by name or number. Absent or null: the last one."),
  buildArgs: orNull(
    BuildArgs,
    `Values of the Dockerfile's ARG, by name; at most ${buildArgsMaxPairs}. They are no secrets: the build's operation shows them, and so may the image's history.`
  ),
  registry: orNull(Registry, "With dockerfile: the host of the registry that `username` and `password` are for."),
  workspaceId: orNull(WorkspaceOfBuild, workspaceMeaning),
  profile: orNull(
    GivenProfile,
    "The sizes of the build's Sandbox, as for a create. Layers, the context and the image need room on its volume."
  )
}

/** What a request that builds is refused with, besides the refusals of a pull. */
export const buildRefusals = [
  NotFound,
  SnapshotNotReady,
  SandboxLimitReached,
  UnsupportedByRuntime,
  SandboxUnavailable
] as const

const DockerfilePath = Schema.String.check(
  isCharactersBetween(1, pathMaxCharacters),
  isPlainText,
  isMatching(/^(?!\.{1,2}(?:\/|$))[^/]+(?:\/(?!\.{1,2}(?:\/|$))[^/]+)*$/, {
    expected: "a path in the archive without empty, . or .. segments"
  })
)

const BuildArg = Schema.String.check(
  isPlainText,
  isMatching(/^[A-Za-z_][A-Za-z0-9_]*=[\s\S]*$/, { expected: "NAME=VALUE" })
)

const outputRefusals = [
  InvalidRequest,
  RateLimited,
  NotFound,
  UnsupportedByRuntime,
  SandboxUnavailable,
  ServiceUnavailable
] as const
const params = { id: ImageId }

export const buildImage = HttpApiEndpoint.post("buildImage", "/images/build", {
  query: {
    name: Schema.optionalKey(
      SandboxName.annotate({ description: "For people; names need not be unique. Absent: none." })
    ),
    dockerfile: Schema.optionalKey(
      DockerfilePath.annotate({ description: "The path of the Dockerfile in the archive. Absent: `Dockerfile`." })
    ),
    target: Schema.optionalKey(Target.annotate({ description: "The stage to build. Absent: the last one." })),
    buildArg: Schema.optionalKey(
      repeated(BuildArg, `NAME=VALUE of an ARG; the parameter repeated, at most ${buildArgsMaxPairs} times.`)
    ),
    workspaceId: Schema.optionalKey(WorkspaceOfBuild.annotate({ description: workspaceMeaning }))
  },
  headers: { ...IdempotencyKey.ofBuild, ...archiveBody.headers },
  payload: archiveBody.payload,
  success: ImageResponse.pipe(HttpApiSchema.status(202)),
  error: [
    InvalidRequest,
    PayloadTooLarge,
    UnsupportedMediaType,
    CreditExhausted,
    IdempotencyConflict,
    ImageLimitReached,
    ImageUploadsReached,
    SandboxLimitReached,
    StorageLimitReached,
    ArchiveIncomplete,
    StorageFull,
    NotFound,
    SnapshotNotReady,
    UnsupportedByRuntime,
    SandboxUnavailable,
    ServiceUnavailable
  ]
})
  .annotate(RequiredScope, "sandbox:create")
  .annotateMerge(
    OpenApi.annotations({
      identifier: "buildImage",
      summary: "Build an image of a Dockerfile with its context",
      description: [
        "The body is the context, a tar archive as `POST …/files/archive` takes it, plain or with Content-Encoding gzip; `dockerfile` is a path in it, and its `.dockerignore` counts. It is unpacked into /workspace of a Sandbox that the service makes for the build. What breaks off leaves nothing. An account sends at most four at a time (429 IMAGE_UPLOADS_REACHED).",
        "",
        "Answers when the whole context is there: the image is `building`, and goes on as one of `POST /images` with `dockerfile`. Base images of private registries: send the Dockerfile with `POST /images`, with a snapshot as the context."
      ].join("\n")
    })
  )

export const readBuildOutput = HttpApiEndpoint.get("readBuildOutput", "/images/:id/build/output", {
  params,
  query: outputQuery,
  success: OperationOutputChunk,
  error: outputRefusals
})
  .annotate(RequiredScope, "sandbox:execute")
  .annotate(ReadsContent, true)
  .annotateMerge(
    OpenApi.annotations({
      identifier: "readBuildOutput",
      summary: "Read the output of a build",
      description:
        "As readOperationOutput of the build's operation, also after its Sandbox is deleted; it is kept as long as an operation. Nothing before the build has begun. 404 for an image that was not built."
    })
  )

export const streamBuildOutput = HttpApiEndpoint.get("streamBuildOutput", "/images/:id/build/output/stream", {
  params,
  query: outputStreamQuery,
  headers: outputStreamHeaders,
  success: HttpApiSchema.StreamUint8Array({ contentType: "text/event-stream" }),
  error: outputRefusals
})
  .annotate(RequiredScope, "sandbox:execute")
  .annotate(ReadsContent, true)
  .annotateMerge(
    OpenApi.annotations({
      identifier: "streamBuildOutput",
      summary: "Follow the output of a build",
      description:
        "As streamOperationOutput of the build's operation: events `output`, and at last `operation`. Waits up to 30 s for the build to begin, then 503: ask again."
    })
  )
