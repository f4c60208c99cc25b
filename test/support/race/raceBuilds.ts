/** What clients of a run do with builds of images, and what must hold of the Sandboxes that they are built in. */
import { Effect, Schema } from "effect"
import type { SandboxContext } from "../../../schemas/contexts/Sandbox.ts"
import { PullImageRequest } from "../../../schemas/Image.ts"
import { Images } from "../../../src/image/Images.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import type { CopyKnown } from "./copies.ts"
import { keyed } from "./keyed.ts"
import type { BuildStep } from "./steps.ts"
import type { ActorFact } from "./Witness.ts"

/** By the number of the build. Null: it comes with a context. */
export const buildFiles: ReadonlyArray<string | null> = ["FROM scratch", "RUN exit 3", "RUN hang", null]

const buildSteps = ["build", "deleteBuild", "cancelBuild", "removeBuilder", "stopBuilder"] as const

export const isBuildStep = (step: { readonly type: string }): step is BuildStep =>
  (buildSteps as ReadonlyArray<string>).includes(step.type)

export const buildErrors: Record<BuildStep["type"], ReadonlyArray<string>> = {
  // A second service that believes to be alone gives up the builds of the first one.
  build: ["IMAGE_LIMIT_REACHED", "STORAGE_LIMIT_REACHED", "SANDBOX_LIMIT_REACHED", "SANDBOX_UNAVAILABLE"],
  deleteBuild: ["NOT_FOUND", "IMAGE_IN_USE"],
  cancelBuild: [],
  removeBuilder: [],
  stopBuilder: ["NOT_FOUND", "SANDBOX_UNAVAILABLE"]
}

const requestId = "req_race"
const nameOf = (build: number) => `b${build}`
const builderName = (build: number) => `build of ${nameOf(build)}`

const isBuilder = ({ kind, context }: ActorFact): boolean =>
  kind === "sandbox" && (context as SandboxContext).buildsImageId !== null

/** Several Sandboxes have one name: requests with one key each make one, and all but one are deleted. */
export const keyOfSandbox = (id: string, { name, buildsImageId }: SandboxContext): string =>
  buildsImageId === null ? name! : id

/** The output of a build's operation; null: it is no build. */
export const buildOutput = (facts: ReadonlyArray<ActorFact>, operationId: string): string | null => {
  const operation = facts.find(({ id }) => id === operationId)
  const builder = facts.find((fact) => fact.id === operation?.sandbox_id && isBuilder(fact))
  if (builder === undefined) return null
  const number = buildFiles.findIndex((_, build) => (builder.context as SandboxContext).name === builderName(build))
  const lines = buildFiles[number]?.split("\n") ?? []
  return lines.map((line, index) => `STEP ${index + 1}/${lines.length}: ${line}\n`).join("")
}

const made = (build: number, key: { readonly accountId: string; readonly requestId: string }) =>
  Effect.flatMap(Images, (images) => {
    const name = nameOf(build)
    const text = buildFiles[build] ?? null
    const asked = { ...key, idempotencyKey: name }
    if (text !== null) {
      const request = Schema.decodeUnknownSync(PullImageRequest)({ name, dockerfile: text })
      return images.pull({ ...asked, fingerprint: name, request })
    }
    return images.build({
      ...asked,
      ...{ name, encoding: "identity" as const, dockerfile: "Dockerfile", target: null, args: {}, workspaceId: null },
      body: (async function* () {
        yield Buffer.from("a context")
      })()
    })
  })

export const buildExchange = (
  step: BuildStep,
  { accountId, facts, idOf, witness }: CopyKnown
): Effect.Effect<void, unknown, Images | Operations | Sandboxes> => {
  const name = nameOf(step.build)
  const builder = facts.findLast(
    (fact) => isBuilder(fact) && (fact.context as SandboxContext).name === builderName(step.build)
  )
  const operation = facts.find(({ kind, sandbox_id }) => kind === "operation" && sandbox_id === builder?.id)
  return Effect.gen(function* () {
    const sandboxes = yield* Sandboxes
    if (step.type === "build") {
      const image = yield* made(step.build, { accountId, requestId }).pipe(keyed(witness, name, name))
      witness.acknowledge(name, name, image.id)
      witness.told.add(`${image.id} ${image.status}`)
    } else if (step.type === "deleteBuild") {
      const imageId = idOf("image", name)
      if (imageId === undefined) return
      yield* (yield* Images).remove(accountId, imageId, { requestId })
      witness.told.add(`${imageId} deleting`)
    } else if (step.type === "cancelBuild" && operation !== undefined && builder !== undefined) {
      witness.operation(yield* (yield* Operations).cancel(accountId, builder.id, operation.id, { requestId }))
    } else if (step.type === "removeBuilder" && builder !== undefined) {
      yield* sandboxes.remove(accountId, builder.id, { requestId })
      witness.told.add(`${builder.id} deleting`)
    } else if (step.type === "stopBuilder" && builder !== undefined) {
      witness.sandbox(yield* sandboxes.stop(accountId, builder.id, { requestId }))
    }
  })
}

const gone = ["deleted", "expired"]

/** Why the Sandbox of a build should be gone by now; null: it is, or it builds. */
export const strayBuilder = (fact: ActorFact, facts: ReadonlyArray<ActorFact>): string | null => {
  if (!isBuilder(fact) || gone.includes(fact.status)) return null
  const image = facts.find(({ id }) => id === (fact.context as SandboxContext).buildsImageId)
  if (image === undefined) return "builds an image that was never stored"
  return image.status === "building" ? null : `builds an image that is ${image.status}`
}
