/** Which Sandboxes a filter leaves. */
import { assert, it } from "@effect/vitest"
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import { everything, type Filter, filtered } from "../../../../src/console/pages/sandboxes/filter.ts"

const of = (id: string, changed: Partial<Sandbox>) =>
  ({ id, name: null, workspaceId: "wsp_1", status: "running", metadata: {}, ...changed }) as Sandbox

const sandboxes = [
  of("sbx_1", { name: "Web Server", metadata: { team: "Blue", note: "two words" } }),
  of("sbx_2", { name: "a=b", status: "stopped", workspaceId: "wsp_2" }),
  of("sbx_3", { status: "deleted", metadata: { team: "blueberry" } }),
  of("sbx_4", { status: "expired", workspaceId: "wsp_2" })
]

const left = (filter: Partial<Filter>) => filtered(sandboxes, { ...everything, ...filter }).map(({ id }) => id.slice(4))

it("a filter leaves what has its status, its workspace, its pairs of metadata and all of its words", () => {
  assert.deepStrictEqual(left({}), ["1", "2"])
  assert.deepStrictEqual(left({ status: "all" }), ["1", "2", "3", "4"])
  assert.deepStrictEqual(left({ status: "stopped" }), ["2"])
  assert.deepStrictEqual(left({ status: "all", workspaceId: "wsp_2" }), ["2", "4"])
  assert.deepStrictEqual(left({ words: "server WEB" }), ["1"])
  assert.deepStrictEqual(left({ words: "server nothing" }), [])
  assert.deepStrictEqual(left({ words: "sbx_2" }), ["2"])
  assert.deepStrictEqual(left({ status: "all", words: "blue" }), ["1", "3"])
  assert.deepStrictEqual(left({ status: "all", words: "team=blue" }), ["1"])
  assert.deepStrictEqual(left({ words: "note=two words" }), ["1"])
  assert.deepStrictEqual(left({ words: "a=b" }), ["2"])
})
