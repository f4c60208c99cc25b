/** The words in which scenarios are written. */
import type { AskStep, ScenarioStep, WorldAt } from "./Scenario.ts"

const asked =
  (method: AskStep["method"], isRepeated: boolean) =>
  (name: string, path: string, body?: unknown): AskStep => ({
    type: "ask",
    name,
    method,
    path,
    isRepeated,
    key: isRepeated ? `key of ${name}` : null,
    ...(body === undefined ? {} : { body })
  })

/** With an Idempotency-Key. */
export const make = asked("POST", true)
export const post = asked("POST", false)
export const patch = asked("PATCH", false)
export const remove = asked("DELETE", false)
export const read = asked("GET", false)

export const pass = (ms: number): ScenarioStep => ({ type: "pass", name: `${ms} ms`, ms })
export const happen = (name: string, does: (at: WorldAt) => void): ScenarioStep => ({
  type: "world",
  name,
  happen: does
})

export const workspace = make("workspace", "/workspaces", { name: "one" })
export const create = (fields: Readonly<Record<string, unknown>> = {}) =>
  make("create", "/sandboxes?wait=running", {
    workspaceId: "{workspace}",
    name: "box",
    networkEnabled: false,
    ...fields
  })
export const running = [workspace, create()]
export const argv = (...words: ReadonlyArray<string>) => ({ argv: words })
