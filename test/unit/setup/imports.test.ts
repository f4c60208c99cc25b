import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { importFaults } from "../../../scripts/imports/rules.ts"
import { importTable } from "../../../scripts/imports/table.ts"

describe("the import rules", () => {
  let folder = ""
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "atoll-imports-"))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const plant = (files: Readonly<Record<string, string>>): ReadonlyArray<string> => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    return importFaults(folder)
  }

  it("allow the table's own directions", () => {
    const faults = plant({
      "schemas/Sandbox.ts": 'import { Schema } from "effect"\nexport const a = Schema.String',
      "machines/sandbox.ts":
        'import { setup } from "xstate"\nimport type { a } from "../schemas/Sandbox.ts"\nexport type B = typeof a',
      "machines/meta.ts": "export interface M {}",
      "src/store/Journal.ts": "export const j = 1",
      "src/engine/Host.ts":
        'import { j } from "../store/Journal.ts"\nimport type * as m from "../../machines/meta.ts"\nexport const h: m.M = j',
      "src/sandbox/Sandbox.ts":
        'import { h } from "../engine/Host.ts"\nimport type { B } from "../../machines/sandbox.ts"\nexport const s: B = h',
      "src/app/Atoll.ts": 'import { s } from "../sandbox/Sandbox.ts"\nconsole.log(s)'
    })
    assert.deepStrictEqual(faults, [])
  })

  it("find what the actors of others would need of Atoll, even where a row of the table allows each step", () => {
    const opened = importTable.map((place) =>
      place.path === "src/store/" && place.places !== "all"
        ? { ...place, places: [...place.places, "machines/"] }
        : place
    )
    plant({
      "machines/sandbox.ts": "export const sandboxMachine = 1",
      "src/store/Journal.ts":
        'import { sandboxMachine } from "../../machines/sandbox.ts"\nexport const j = sandboxMachine',
      "src/engine/Host.ts": 'import { j } from "../store/Journal.ts"\nexport const h = j'
    })
    assert.deepStrictEqual(importFaults(folder, opened), [
      "src/engine/Host.ts imports src/store/Journal.ts imports machines/sandbox.ts, which developers with other machines should not need"
    ])
  })

  const breaches: ReadonlyArray<readonly [string, Record<string, string>, RegExp]> = [
    [
      "a value against the direction",
      {
        "src/store/A.ts": 'import { b } from "../api/http/B.ts"\nexport const a = b',
        "src/api/http/B.ts": "export const b = 1"
      },
      /src\/store\/A\.ts may not import src\/api\/http\/B\.ts/
    ],
    [
      "a type against the direction",
      {
        "schemas/A.ts": 'import type { B } from "../src/engine/B.ts"\nexport type A = B',
        "src/engine/B.ts": "export type B = 1"
      },
      /schemas\/A\.ts may not import src\/engine\/B\.ts/
    ],
    [
      "an inline import type",
      { "schemas/A.ts": 'export type A = import("../src/engine/B.ts").B', "src/engine/B.ts": "export type B = 1" },
      /schemas\/A\.ts may not import src\/engine\/B\.ts/
    ],
    [
      "a dynamic import",
      { "src/store/A.ts": 'export const a = () => import("../main.ts")', "src/main.ts": "export const b = 1" },
      /src\/store\/A\.ts may not import src\/main\.ts/
    ],
    [
      "a package in a pure place",
      { "machines/a.ts": 'import { Effect } from "effect"\nexport const a = Effect.void' },
      /machines\/a\.ts may not import the package effect/
    ],
    [
      "a builtin in a pure place",
      { "machines/a.ts": 'import "node:fs"\nexport const a = 1' },
      /machines\/a\.ts may not import node:fs/
    ],
    [
      "anything foreign in the agent",
      { "src/agent/a.ts": 'import "effect"\nexport const a = 1' },
      /may not import the package effect/
    ],
    [
      "a whole package with unused parts",
      { "src/main.ts": 'import { NodeRuntime } from "@effect/platform-node"\nNodeRuntime.runMain' },
      /src\/main\.ts imports all of @effect\/platform-node: it loads a client of Redis/
    ],
    [
      "a driver's inside from a resource",
      {
        "src/sandbox/A.ts": 'import "../host/qemu/B.ts"\nexport const a = 1',
        "src/host/qemu/B.ts": "export const b = 1"
      },
      /src\/sandbox\/A\.ts may not import src\/host\/qemu\/B\.ts/
    ],
    [
      "the way from a Sandbox back to its gateway",
      {
        "src/sandbox/A.ts": 'import "../access/gateway/B.ts"\nexport const a = 1',
        "src/access/gateway/B.ts": "export const b = 1"
      },
      /src\/sandbox\/A\.ts may not import src\/access\/gateway\/B\.ts/
    ],
    [
      "the way from a wallet back to the Sandboxes that it charges for",
      {
        "src/wallet/A.ts": 'import "../sandbox/B.ts"\nexport const a = 1',
        "src/sandbox/B.ts": "export const b = 1"
      },
      /src\/wallet\/A\.ts may not import src\/sandbox\/B\.ts/
    ],
    [
      "a circle",
      {
        "src/store/A.ts": 'import { b } from "./B.ts"\nexport const a = b',
        "src/store/B.ts": 'import { c } from "./C.ts"\nexport const b = c',
        "src/store/C.ts": 'import type { a } from "./A.ts"\nexport const c = 0 as typeof a'
      },
      /in a circle: .*A\.ts, .*B\.ts, .*C\.ts/
    ],
    [
      "a barrel",
      {
        "src/store/all.ts": 'export * from "./A.ts"\nexport { b } from "./B.ts"',
        "src/store/A.ts": "export const a = 1",
        "src/store/B.ts": "export const b = 1"
      },
      /src\/store\/all\.ts is a barrel/
    ],
    ["a folder without a place", { "src/lib/a.ts": "" }, /src\/lib\/a\.ts belongs to no place/],
    [
      "an import without a place",
      { "machines/../lib/a.ts": "", "src/main.ts": 'import "../lib/a.ts"' },
      /src\/main\.ts imports lib\/a\.ts, which belongs to no place/
    ]
  ]

  for (const [breach, files, sentence] of breaches) {
    it(`find ${breach}`, () => {
      const faults = plant(files)
      assert.lengthOf(faults, 1)
      assert.match(faults[0]!, sentence)
    })
  }
})
