/**
 * What may happen in a run, as plain data: a failing list of steps shrinks to a short one and can be read.
 * Sandboxes and operations are named by the number of the key that made them; a step that names one that does not exist
 * does nothing.
 */
import fc from "fast-check"
import type { UpdateSandboxRequest } from "../../../schemas/Sandbox.ts"
import { databaseCalls, type Rule, runtimeCalls } from "./Gates.ts"

export const programs = [
  ["echo", "words"],
  ["hang"],
  ["sleep", "3"],
  ["sleep", "40"],
  ["exit", "3"],
  ["missing"],
  ["cat"]
] as const

/** A client's change of a Sandbox. */
export const changes: ReadonlyArray<UpdateSandboxRequest> = [
  { lifetime: { stopAfterSeconds: 9 } },
  { lifetime: { stopAfterIdleSeconds: 6 } },
  { lifetime: { deleteAfterStoppedSeconds: 4 } },
  { lifetime: null },
  { metadata: { team: "blue" }, env: { NAME: "value" } },
  { metadata: { team: null }, env: null }
]

/** What clients do with copies of volumes, and with images. */
export type CopyStep = { readonly life: number } & (
  | { readonly type: "snapshot"; readonly snapshot: number; readonly sandbox: number }
  | { readonly type: "deleteSnapshot"; readonly snapshot: number }
  | { readonly type: "rollback"; readonly sandbox: number; readonly snapshot: number; readonly keep: boolean }
  | { readonly type: "fork"; readonly fork: number; readonly sandbox: number; readonly count: number }
  | { readonly type: "pull" | "deleteImage"; readonly image: number }
)

/** What clients do with the builds of images, and with the Sandboxes and operations of those. */
export type BuildStep = {
  readonly life: number
  readonly type: "build" | "deleteBuild" | "cancelBuild" | "removeBuilder" | "stopBuilder"
  readonly build: number
}

export type ClientStep = { readonly life: number } & (
  | { readonly type: "create"; readonly sandbox: number; readonly body: number }
  | { readonly type: "start"; readonly sandbox: number; readonly key: number | null }
  | { readonly type: "stop" | "remove" | "sleep"; readonly sandbox: number }
  | { readonly type: "update"; readonly sandbox: number; readonly change: number }
  | {
      readonly type: "operation"
      readonly operation: number
      readonly sandbox: number
      readonly program: number
      readonly timeoutSeconds: number | null
    }
  | { readonly type: "cancel" | "get" | "output"; readonly operation: number }
  | { readonly type: "wait"; readonly operation: number; readonly timeoutSeconds: number }
  | { readonly type: "execute"; readonly sandbox: number; readonly program: number; readonly timeoutSeconds: number }
  | CopyStep
  | BuildStep
)

/** Needs no service: the machines go on while it is down. */
export type WorldStep =
  | { readonly type: "crashMachine"; readonly sandbox: number }
  | { readonly type: "write"; readonly operation: number; readonly bytes: number }
  | { readonly type: "finish"; readonly operation: number; readonly exitCode: number | null }
  | { readonly type: "finishBoot"; readonly index: number }

export type Step =
  | ClientStep
  | WorldStep
  | {
      readonly type: "together"
      readonly steps: ReadonlyArray<ClientStep | WorldStep>
      readonly crashAfterTurns: number | null
    }
  | { readonly type: "crash"; readonly life: number; readonly meanwhile: ReadonlyArray<WorldStep> }
  /** A second service on the same database and host, which also believes that it owns every actor; or its end. */
  | { readonly type: "twin" }
  /** Repeats an event that the runtime sent before, of any generation. */
  | { readonly type: "repeatEvent"; readonly sandbox: number; readonly index: number; readonly life: number }
  /** An outcome of an operation that has already ended, from an owner that did not know. */
  | { readonly type: "lateOutcome"; readonly operation: number; readonly life: number }
  | { readonly type: "disturb"; readonly rule: Rule }
  | { readonly type: "release"; readonly index: number }
  | { readonly type: "releaseAll" }
  | { readonly type: "advance"; readonly ms: number }

const life = fc.nat(1)
const sandbox = fc.nat(4)
const operation = fc.nat(5)
const snapshot = fc.nat(2)
const program = fc.nat(programs.length - 1)

const of = (type: string, fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record({ type: fc.constant(type), ...fields }) as fc.Arbitrary<unknown> as fc.Arbitrary<never>

const copyStep: fc.Arbitrary<CopyStep> = fc.oneof(
  { weight: 3, arbitrary: of("snapshot", { life, snapshot, sandbox: fc.nat(1) }) },
  { weight: 2, arbitrary: of("deleteSnapshot", { life, snapshot }) },
  { weight: 3, arbitrary: of("rollback", { life, sandbox: fc.nat(1), snapshot, keep: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: of("fork", { life, fork: fc.nat(1), sandbox: fc.nat(1), count: fc.integer({ min: 1, max: 2 }) })
  },
  { weight: 1, arbitrary: of("pull", { life, image: fc.nat(1) }) },
  { weight: 1, arbitrary: of("deleteImage", { life, image: fc.nat(1) }) }
)

const build = fc.nat(3)

const buildStep: fc.Arbitrary<BuildStep> = fc.oneof(
  { weight: 5, arbitrary: of("build", { life, build }) },
  { weight: 2, arbitrary: of("deleteBuild", { life, build }) },
  { weight: 2, arbitrary: of("cancelBuild", { life, build }) },
  { weight: 2, arbitrary: of("removeBuilder", { life, build }) },
  { weight: 1, arbitrary: of("stopBuilder", { life, build }) }
)

const clientStep: fc.Arbitrary<ClientStep> = fc.oneof(
  { weight: 5, arbitrary: of("create", { life, sandbox, body: fc.nat(1) }) },
  { weight: 3, arbitrary: of("start", { life, sandbox, key: fc.option(fc.nat(1)) }) },
  { weight: 2, arbitrary: of("stop", { life, sandbox }) },
  { weight: 2, arbitrary: of("remove", { life, sandbox }) },
  { weight: 1, arbitrary: of("sleep", { life, sandbox }) },
  { weight: 2, arbitrary: of("update", { life, sandbox, change: fc.nat(changes.length - 1) }) },
  {
    weight: 8,
    arbitrary: of("operation", {
      life,
      operation,
      sandbox: fc.nat(1),
      program,
      timeoutSeconds: fc.option(fc.constantFrom(2, 30), { freq: 2 })
    })
  },
  { weight: 3, arbitrary: of("cancel", { life, operation }) },
  { weight: 1, arbitrary: of("get", { life, operation }) },
  { weight: 1, arbitrary: of("output", { life, operation }) },
  { weight: 1, arbitrary: of("wait", { life, operation, timeoutSeconds: fc.constantFrom(0, 1, 30) }) },
  { weight: 12, arbitrary: copyStep },
  { weight: 4, arbitrary: buildStep },
  { weight: 1, arbitrary: of("execute", { life, sandbox: fc.nat(1), program, timeoutSeconds: fc.constantFrom(1, 5) }) }
)

const worldStep: fc.Arbitrary<WorldStep> = fc.oneof(
  { weight: 1, arbitrary: of("crashMachine", { sandbox }) },
  { weight: 1, arbitrary: of("write", { operation, bytes: fc.constantFrom(1, 1000) }) },
  { weight: 3, arbitrary: of("finish", { operation, exitCode: fc.option(fc.nat(2)) }) },
  { weight: 1, arbitrary: of("finishBoot", { index: fc.nat(3) }) }
)

const ruleOf = (calls: ReadonlyArray<(typeof runtimeCalls)[number]>): fc.Arbitrary<Rule> =>
  fc
    .oneof(
      fc.record({
        call: fc.constantFrom(...calls),
        phase: fc.constantFrom("before" as const, "after" as const),
        action: fc.oneof({ weight: 3, arbitrary: fc.constant("hold" as const) }, fc.constantFrom("fail", "refuse"))
      }),
      fc.record({
        call: fc.constantFrom(...databaseCalls),
        phase: fc.constantFrom("before" as const, "after" as const),
        action: fc.constantFrom("hold" as const, "hold" as const, "fail" as const)
      })
    )
    .chain((base) => fc.nat(3).map((more) => ({ ...base, left: more + 1 }) as Rule))

/** In some runs the service ends in their middle. */
const togetherOf = (step: fc.Arbitrary<ClientStep | WorldStep>, maxLength: number) =>
  of("together", {
    steps: fc.array(step, { minLength: 2, maxLength }),
    crashAfterTurns: fc.option(fc.nat(40), { freq: 2 })
  })

const together = togetherOf(fc.oneof({ weight: 5, arbitrary: clientStep }, { weight: 1, arbitrary: worldStep }), 5)

const common: ReadonlyArray<fc.WeightedArbitrary<Step>> = [
  { weight: 12, arbitrary: clientStep },
  { weight: 4, arbitrary: worldStep },
  { weight: 4, arbitrary: together },
  {
    weight: 3,
    arbitrary: of("crash", { life, meanwhile: fc.array(worldStep, { maxLength: 2 }) }) as fc.Arbitrary<Step>
  },
  { weight: 1, arbitrary: of("repeatEvent", { life, sandbox, index: fc.nat(5) }) },
  { weight: 2, arbitrary: of("lateOutcome", { life, operation }) },
  { weight: 5, arbitrary: of("disturb", { rule: ruleOf(runtimeCalls) }) },
  { weight: 3, arbitrary: of("release", { index: fc.nat(3) }) },
  { weight: 1, arbitrary: of("releaseAll", {}) },
  { weight: 3, arbitrary: of("advance", { ms: fc.constantFrom(20, 600, 2500, 12_000, 35_000) }) }
]

const beginning: ReadonlyArray<Step> = [{ type: "create", life: 0, sandbox: 0, body: 0 }]

const listOf = (step: fc.Arbitrary<Step>) =>
  fc.array(step, { minLength: 1, maxLength: 24, size: "max" }).map((steps) => [...beginning, ...steps])

/** One service at a time. */
export const steps = listOf(fc.oneof(...common))

/** With a second service that comes and goes. */
export const stepsOfTwo = listOf(fc.oneof(...common, { weight: 3, arbitrary: of("twin", {}) })).map((list) => [
  ...list.slice(0, 1),
  { type: "twin" } as Step,
  ...list.slice(1)
])

const copyCalls = [
  "capture",
  "restore",
  "removeSnapshot",
  "pullImage",
  "removeImage",
  "provision",
  "stop",
  "destroy"
] as const

/** Copies above all: two Sandboxes of one workspace, and a snapshot. A snapshot, its Sandbox and its children meet in each of their ways. */
export const stepsOfCopies = listOf(
  fc.oneof(
    { weight: 30, arbitrary: copyStep },
    { weight: 8, arbitrary: of("disturb", { rule: ruleOf(copyCalls) }) },
    { weight: 4, arbitrary: of("stop", { life, sandbox: fc.nat(1) }) },
    { weight: 4, arbitrary: of("start", { life, sandbox: fc.nat(1), key: fc.constant(null) }) },
    { weight: 3, arbitrary: of("remove", { life, sandbox: fc.nat(1) }) },
    { weight: 2, arbitrary: of("sleep", { life, sandbox: fc.nat(1) }) },
    { weight: 1, arbitrary: of("twin", {}) },
    {
      weight: 6,
      arbitrary: togetherOf(fc.oneof({ weight: 3, arbitrary: copyStep }, { weight: 1, arbitrary: clientStep }), 4)
    },
    ...common.slice(-3),
    { weight: 2, arbitrary: of("crash", { life, meanwhile: fc.constant([]) }) }
  )
).map((list) => [
  ...list.slice(0, 1),
  { type: "snapshot", life: 0, snapshot: 0, sandbox: 0 } as Step,
  { type: "create", life: 0, sandbox: 1, body: 0 } as Step,
  ...list.slice(1)
])

const buildCalls = [
  "provision",
  "start",
  "attach",
  "kill",
  "receiveImage",
  "acceptImage",
  "removeImage",
  "stop",
  "destroy"
] as const

/** Builds above all. The service is held, fails or ends at each step of a build, while its image, its operation and its Sandbox are ended by clients. */
export const stepsOfBuilds = listOf(
  fc.oneof(
    { weight: 30, arbitrary: buildStep },
    { weight: 10, arbitrary: of("disturb", { rule: ruleOf(buildCalls) }) },
    { weight: 1, arbitrary: of("twin", {}) },
    {
      weight: 8,
      arbitrary: togetherOf(buildStep, 4)
    },
    ...common.slice(-3),
    { weight: 3, arbitrary: of("crash", { life, meanwhile: fc.constant([]) }) }
  )
).map((list) => [{ type: "build", life: 0, build: 0 } as Step, ...list.slice(1)])
