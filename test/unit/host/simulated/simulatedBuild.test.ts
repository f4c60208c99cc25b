import { buffer } from "node:stream/consumers"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { publicText } from "../../../../schemas/PublicText.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { buildCommand, buildDockerfilePath, buildOutputPath } from "../../../../src/runtime/buildScript.ts"
import type { Guest } from "../../../../src/runtime/Guest.ts"
import { commandSpec, run } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { upload } from "../../../support/upload.ts"

const building = Effect.gen(function* () {
  const world = yield* SimulatedWorld.make
  const runtime = simulatedRuntime(world)
  yield* runtime.provision(sandboxSpec("one", { builder: true }))
  return { world, runtime, guest: yield* runtime.guest("one", 1) }
})

const built = Effect.fnUntraced(function* (guest: Guest, dockerfile: string) {
  yield* guest.files.write(buildDockerfilePath, upload([Buffer.from(dockerfile)]))
  const { argv } = buildCommand({
    dockerfile: null,
    context: "/workspace",
    target: null,
    buildArgs: {},
    credentials: null
  })
  return yield* run(guest, commandSpec(argv))
})

const imageOf = (guest: Guest) =>
  Effect.scoped(
    Effect.flatMap(guest.files.read(buildOutputPath, { offset: 0, maxBytes: 1e6, version: null }), ({ body }) =>
      Effect.promise(() => buffer(body))
    )
  )

it.effect("a build tells its steps, and leaves an image that the Dockerfile decides", () =>
  Effect.gen(function* () {
    const { guest } = yield* building
    const { exited, stdout } = yield* built(guest, "FROM scratch\nCOPY a /a\n")
    assert.strictEqual(exited.exitCode, 0)
    assert.strictEqual(stdout, "STEP 1/2: FROM scratch\nSTEP 2/2: COPY a /a\n")
    const first = yield* imageOf(guest)
    yield* built(guest, "FROM scratch\nCOPY b /b\n")
    assert.isFalse(first.equals(yield* imageOf(guest)))
  })
)

it.effect("a step that fails ends the build, and leaves no image", () =>
  Effect.gen(function* () {
    const { guest } = yield* building
    const { exited, stdout } = yield* built(guest, "FROM scratch\nRUN exit 3\nCOPY a /a\n")
    assert.strictEqual(exited.exitCode, 3)
    assert.strictEqual(stdout, "STEP 1/3: FROM scratch\nSTEP 2/3: RUN exit 3\n")
    assert.deepInclude(yield* Effect.flip(imageOf(guest)), { _tag: "FileRefused", code: "NOT_FOUND" })
  })
)

it.effect("a host that builds nothing says why, and boots no such Sandbox", () =>
  Effect.gen(function* () {
    const { world, runtime } = yield* building
    const message = publicText`It builds nothing.`
    world.buildObstacle = message
    assert.strictEqual(yield* runtime.images.buildObstacle, message)
    const refusal = yield* Effect.flip(runtime.provision(sandboxSpec("two", { builder: true })))
    assert.deepInclude(refusal, { _tag: "RuntimeRefused", code: "IMAGE_UNSUPPORTED", message })
    yield* runtime.provision(sandboxSpec("three"))
  })
)
