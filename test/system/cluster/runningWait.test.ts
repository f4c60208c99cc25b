/** `wait=running` at any process, for Sandboxes of any owner. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { probe } from "../../../src/host/namespace/probe.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { Members } from "./Members.ts"

const { ok } = await Effect.runPromise(probe)

describe.runIf(ok)("wait=running in a cluster", () => {
  it.live(
    "makes create, its replay at the other process, and start answer with the running Sandbox",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        yield* Effect.promise(async () => {
          const members = await Members.start(2, url)
          try {
            const [one, other] = members.all as [(typeof members.all)[0], (typeof members.all)[0]]
            const { body } = await one.ask("POST", "/workspaces", { name: "wait" }, "w")
            for (const key of ["a", "b", "c", "d"]) {
              const request = { workspaceId: body.workspace.id, networkEnabled: false }
              const answers = await Promise.all(
                [one, other].map((member) => member.ask("POST", "/sandboxes?wait=running", request, key))
              )
              const { id } = answers[0]!.body.sandbox
              await one.ask("POST", `/sandboxes/${id}/stop`)
              answers.push(await other.ask("POST", `/sandboxes/${id}/start?wait=running`))
              assert.deepStrictEqual(
                answers.map(({ status, body: { sandbox } }) => [
                  status,
                  sandbox.id,
                  sandbox.status,
                  sandbox.generation
                ]),
                [
                  [201, id, "running", 1],
                  [201, id, "running", 1],
                  [201, id, "running", 2]
                ]
              )
            }
          } finally {
            await members.end()
          }
        })
      }).pipe(Effect.provide(TestDatabase.bare)),
    120_000
  )
})
