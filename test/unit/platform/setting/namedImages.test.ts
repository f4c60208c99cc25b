import { assert, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { ImageReference } from "../../../../schemas/ImageReference.ts"
import { Settings } from "../../../../src/Config.ts"
import { testSettings } from "../../../support/TestSettings.ts"

const imagesOf = (text: string) =>
  Effect.map(Settings, ({ operatorImages }) => operatorImages).pipe(
    Effect.provide(testSettings({ ATOLL_IMAGES: text }))
  )

const references = [
  "docker.io/library/python:3.14",
  "localhost/tools",
  "registry.internal:5000/team/tools:1_a.b-c",
  `ghcr.io/a/b@sha256:${"a".repeat(64)}`,
  `ghcr.io/${"a".repeat(504)}`,
  "alpine",
  "library/alpine:3.22",
  "https://registry.test/tools",
  "user:word@registry.test/tools",
  "registry.test/Tools",
  "registry.test/../tools",
  "registry.test/tools:",
  "registry.test/tools@sha256:abc",
  "registry.test:123456/tools",
  `registry.test/${"a".repeat(600)}`
]

it.effect("ATOLL_IMAGES takes names with the references that the API takes, and nothing else", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* imagesOf(""), [])
    assert.deepStrictEqual(yield* imagesOf("python=docker.io/library/python:3.14, node=docker.io/library/node"), [
      { name: "python", reference: "docker.io/library/python:3.14" },
      { name: "node", reference: "docker.io/library/node" }
    ])
    for (const reference of references) {
      const found = yield* Effect.exit(imagesOf(`name=${reference}`))
      assert.strictEqual(Exit.isSuccess(found), Schema.is(ImageReference)(reference), reference)
    }
    for (const text of ["docker.io/library/node", "=docker.io/a", "a b=docker.io/a", "a=docker.io/a,a=docker.io/b"]) {
      assert.isTrue(Exit.isFailure(yield* Effect.exit(imagesOf(text))), text)
    }
  })
)
