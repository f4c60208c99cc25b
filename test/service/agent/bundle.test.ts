import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import { agentBundle } from "../../../src/runtime/agentClient/agentBundle.ts"

describe("the agent's bundle", () => {
  it("is built for each of several drivers that open shortly after one another", async () => {
    const folder = mkdtempSync(join(tmpdir(), "atoll-bundle-"))
    try {
      const paths = await Promise.all(
        Array.from({ length: 8 }, async (_, index) => {
          await setTimeout(index * 10)
          return agentBundle(join(folder, String(index)))
        })
      )
      expect(new Set(paths.map((it) => basename(it))).size).toBe(1)
      expect(paths.map((_, index) => readdirSync(join(folder, String(index))))).toEqual(
        paths.map((it) => [basename(it)])
      )
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
