import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { Settings, settings } from "../../../src/Config.ts"

const read = (environment: Readonly<Record<string, string>>) =>
  Effect.provide(
    Settings,
    Settings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment))))
  )

describe("the settings", () => {
  it.effect("all have defaults", () =>
    Effect.gen(function* () {
      const found = yield* read({})
      assert.strictEqual(found.port, 8080)
      assert.sameMembers(Object.keys(found), Object.keys(settings))
    })
  )

  it.effect("are read from the environment, where an empty one counts as none", () =>
    Effect.gen(function* () {
      const found = yield* read({
        ATOLL_PORT: "81",
        ATOLL_RUNTIME: "simulated",
        ATOLL_HOST: "",
        ATOLL_DATA_DIR: "/tmp/../srv"
      })
      assert.deepInclude(found, { port: 81, runtime: "simulated", host: "127.0.0.1", dataDir: "/srv" })
    })
  )

  it.effect("that do not parse are all named, with their shape and default", () =>
    Effect.gen(function* () {
      const fault = yield* Effect.flip(
        read({ ATOLL_PORT: "70000", ATOLL_RUNTIME: "docker", ATOLL_VOLUME_BYTES: "4GB" })
      )
      assert.strictEqual(
        fault.message,
        "ATOLL_PORT must be a whole number from 0 to 65535 (default: 8080). " +
          "ATOLL_RUNTIME must be one of auto, namespace, qemu, simulated (default: auto). " +
          "ATOLL_VOLUME_BYTES must be a whole number from 0 to 9007199254740991 (default: 4294967296)."
      )
    })
  )

  it.effect("that are URLs are checked before any use, and not quoted", () =>
    Effect.gen(function* () {
      for (const url of ["hunter2", "http://someone:hunter2@127.0.0.1/shop"]) {
        const { message } = yield* Effect.flip(
          read({ DATABASE_URL: url, OTEL_EXPORTER_OTLP_ENDPOINT: "127.0.0.1:4318" })
        )
        assert.match(
          message,
          /^OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http:.* DATABASE_URL must be a URL such as postgres:/
        )
        assert.notInclude(message, "hunter2")
      }
      const found = yield* read({ DATABASE_URL: "", OTEL_EXPORTER_OTLP_ENDPOINT: "" })
      assert.deepInclude(found, { databaseUrl: null, otlpEndpoint: null })
    })
  )

  it("have distinct names, each with its unit last where it has one", () => {
    const names = Object.values(settings).map((setting) => setting.env)
    assert.lengthOf(new Set(names), names.length)
    for (const [key, setting] of Object.entries(settings)) {
      if (/(Ms|Bytes|Seconds)$/.test(key)) assert.match(setting.env, /_(MS|BYTES|SECONDS)$/)
    }
  })
})
