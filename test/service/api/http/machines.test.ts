/** The machines as data: all of `machines/`, complete, and without a key. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { MachineList } from "../../../../schemas/Machine.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { machineSources } from "../../../support/machines/MachineSource.ts"

const withApi = <A>(test: (api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api)))

interface Shown {
  readonly kind: string
  readonly version: number
  readonly states: ReadonlyArray<{ readonly name: string }>
  readonly mermaid: string
}

layer(TestApi.layer(), { excludeTestServices: true })("the list of machines", (it) => {
  it.effect("has all machines with every state, without a key", () =>
    withApi(async ({ send }) => {
      const { status, json, headers } = await send("GET", "/api/v2/machines", { key: null })
      assert.strictEqual(status, 200)
      assert.match(String(headers["cache-control"]), /max-age=\d+/)
      assert.isTrue(Schema.is(MachineList)(json))
      const shown: ReadonlyArray<Shown> = json.machines
      assert.sameMembers(
        shown.map(({ kind }) => kind),
        machineSources.map(({ machine }) => machine.id)
      )
      for (const { machine } of machineSources) {
        const { states, version } = shown.find(({ kind }) => kind === machine.id)!
        assert.sameMembers(
          states.map(({ name }) => name),
          Object.keys(machine.states)
        )
        assert.strictEqual(String(version), machine.version)
      }
    })
  )

  it.effect("is also served as Mermaid, and in no other format", () =>
    withApi(async ({ send }) => {
      const { json } = await send("GET", "/api/v2/machines?format=mermaid", { key: null })
      assert.isTrue(Schema.is(MachineList)(json))
      for (const { kind, mermaid } of json.machines as ReadonlyArray<Shown>) {
        assert.match(mermaid, /^stateDiagram-v2$/m, kind)
      }
      assert.strictEqual((await send("GET", "/api/v2/machines?format=dot", { key: null })).status, 400)
    })
  )
})
