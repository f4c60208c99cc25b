import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { simulatedDigest } from "../../../../src/host/simulated/simulatedImages.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const source = (repository: string, password: string | null = null) => ({
  reference: `registry.test/${repository}:v1`,
  digest: null,
  credentials: password === null ? null : { username: "user", password: Redacted.make(password) }
})

describe("an image of the simulated runtime", () => {
  it.effect("is refused, fails or is pulled as its repository says", () =>
    Effect.gen(function* () {
      const { images } = simulatedRuntime(yield* SimulatedWorld.make)
      const refusals = {
        missing: "IMAGE_NOT_FOUND",
        private: "IMAGE_UNAUTHORIZED",
        large: "IMAGE_TOO_LARGE",
        foreign: "IMAGE_UNSUPPORTED",
        broken: "IMAGE_INVALID",
        crowded: "IMAGE_NO_ROOM",
        forbidden: "IMAGE_ADDRESS_FORBIDDEN"
      }
      for (const [repository, code] of Object.entries(refusals)) {
        expect(yield* Effect.flip(images.pull(source(repository)))).toMatchObject({ _tag: "RuntimeRefused", code })
      }
      expect((yield* Effect.flip(images.pull(source("flaky"))))._tag).toBe("RuntimeUnavailable")
      expect(yield* images.inventory).toEqual([])
      const { digest } = yield* images.pull(source("private", "secret"))
      expect(digest).toBe(simulatedDigest("registry.test/private:v1"))
      expect(yield* images.inventory).toEqual([digest])
      yield* images.remove(digest)
      expect(yield* images.inventory).toEqual([])
    })
  )

  it.effect("is pulled by the first boot of a Sandbox that needs it, which is refused as a pull is", () =>
    Effect.gen(function* () {
      const { images, provision } = simulatedRuntime(yield* SimulatedWorld.make)
      const digest = simulatedDigest("registry.test/app:v1")
      yield* provision(sandboxSpec("one", { image: { ...source("app"), digest } }))
      expect(yield* images.inventory).toEqual([digest])
      const missing = { ...source("missing"), digest: simulatedDigest("registry.test/missing:v1") }
      expect(yield* Effect.flip(provision(sandboxSpec("two", { image: missing })))).toMatchObject({
        code: "IMAGE_NOT_FOUND"
      })
    })
  )
})
