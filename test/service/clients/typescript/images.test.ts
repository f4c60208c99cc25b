/** Images of Dockerfiles with the TypeScript library, against the real service on simulated machines. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Atoll, type ImageHandle } from "../../../../clients/typescript/src/index.ts"
import { scopes } from "../../../../schemas/Access.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { testFolder } from "../../../support/testFolder.ts"

const buildArgs = { LIST: "a,b", PAIR: "c=d&e f", EMPTY: "" }
const asked = Object.entries(buildArgs).map(([name, value]) => `${name}=${value}`)

/** As the build's command has them. */
const argsOf = async (atoll: Atoll, { record }: ImageHandle) => {
  const { sandboxId, operationId } = record.build!
  const operation = await (await atoll.sandboxes.get(sandboxId)).operation(operationId!)
  return operation.record.argv.slice(-asked.length)
}

describe.skipIf(isOverAFleet)("the TypeScript library", () => {
  layer(TestApi.layer(), { excludeTestServices: true })((it) => {
    it.effect("builds images of texts and directories, with their output and each build argument", () =>
      Effect.gen(function* () {
        const { newKey, port } = yield* TestApi
        const folder = yield* testFolder
        yield* Effect.promise(async () => {
          const { secret: apiKey } = await newKey(scopes, crypto.randomUUID())
          const atoll = new Atoll({ apiKey, url: `http://127.0.0.1:${port}` })
          let told = ""
          const onOutput = ({ bytes }: { readonly bytes: Uint8Array }) => {
            told += Buffer.from(bytes).toString()
          }
          const ofText = await atoll.images.build({ dockerfile: "FROM scratch\nRUN true\n", buildArgs, onOutput })
          assert.strictEqual(ofText.status, "ready")
          assert.strictEqual(told, "STEP 1/2: FROM scratch\nSTEP 2/2: RUN true\n")
          assert.deepStrictEqual(await argsOf(atoll, ofText), asked)

          writeFileSync(join(folder, "Dockerfile"), "RUN true\n")
          const ofDirectory = await atoll.images.build({ context: folder, buildArgs, idempotencyKey: "directory" })
          // A parameter for each, and none is cut at a comma.
          assert.deepStrictEqual(await argsOf(atoll, ofDirectory), asked)
          const again = await atoll.images.build({ context: folder, buildArgs, idempotencyKey: "directory" })
          assert.strictEqual(again.id, ofDirectory.id)

          const failure = await atoll.images.build({ dockerfile: "RUN exit 7" }).catch((thrown: unknown) => thrown)
          assert.match(String(failure), /IMAGE_BUILD_FAILED: .*exit code 7/)
        })
      })
    )
  })
})
