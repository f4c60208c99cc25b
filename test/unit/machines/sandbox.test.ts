import { assert, describe, it } from "vitest"
import { deletesAt, stopsAt } from "../../../machines/sandbox.ts"
import { inputOf, ofThisVersion } from "../../../machines/sandboxVersions.ts"
import type { SandboxContext } from "../../../schemas/contexts/Sandbox.ts"
import { machineSources } from "../../support/machines/MachineSource.ts"
import { isFollowed, walk } from "../../support/machines/walk.ts"

const source = machineSources.find(({ name }) => name === "sandbox")!
const reached = [...walk(source).values()].filter(isFollowed)
const stepsOf = (type: string) =>
  reached.flatMap(({ snapshot, steps }) =>
    steps.filter(({ event }) => event.type === type).map((step) => ({ state: snapshot.value as string, ...step }))
  )

describe("the Sandbox machine", () => {
  it("lets a delete win in every state, and leaves it by no event", () => {
    for (const { state, verdict } of stepsOf("DELETE")) {
      if (state === "deleting" || state === "deleted") assert.strictEqual(verdict.type, "unchanged")
      else assert.isTrue(verdict.type === "accepted" && verdict.snapshot.value === "deleting", state)
    }
    for (const { snapshot, steps } of reached) {
      if (snapshot.value !== "deleting") continue
      for (const { verdict } of steps) {
        if (verdict.type === "accepted") assert.strictEqual(verdict.snapshot.value, "deleted")
      }
    }
  })

  it("sends the commands that destroy runtime and volume on every transition into deleting", () => {
    for (const { verdict } of stepsOf("DELETE")) {
      if (verdict.type !== "accepted") continue
      assert.deepStrictEqual(
        verdict.commands.map(({ type }) => type).filter((type) => type !== "meter"),
        ["closeDependents", "destroyRuntime"]
      )
    }
  })

  it("never forgets a Sandbox that ran once: it can neither expire nor fail, and its volume is kept", () => {
    let asked = 0
    for (const { snapshot, steps } of reached) {
      if ((snapshot.context as SandboxContext).startedAt === null) continue
      for (const { event, verdict } of steps) {
        if (snapshot.value === "pending" && event.type === "RUNTIME_REFUSED") asked++
        const to = verdict.type === "accepted" ? verdict.snapshot.value : snapshot.value
        assert.isTrue(to !== "expired" && to !== "failed", `${snapshot.value} ${event.type}`)
      }
    }
    assert.isAbove(asked, 0)
  })

  it("refuses every event of the runtime for another generation", () => {
    for (const { snapshot, steps } of reached) {
      const { generation } = snapshot.context as SandboxContext
      for (const { event, verdict } of steps) {
        if ("generation" in event && event["generation"] !== generation) {
          assert.strictEqual(verdict.type, "refused", `${snapshot.value} ${JSON.stringify(event)}`)
        }
      }
    }
  })

  it("boots a new generation only after the one before has ended", () => {
    for (const { snapshot, steps } of reached) {
      const { generation } = snapshot.context as SandboxContext
      for (const { verdict } of steps) {
        if (verdict.type !== "accepted") continue
        const next = (verdict.snapshot.context as SandboxContext).generation
        if (next === generation) continue
        assert.strictEqual(next, generation + 1)
        assert.include(["stopped", "stopping", "restoring"], snapshot.value)
        // A rollback of a stopped Sandbox boots nothing.
        if (verdict.snapshot.value === "stopped") assert.notInclude(JSON.stringify(verdict.commands), "provision")
        else assert.deepInclude(verdict.commands[0], { type: "provision", params: { generation: next } })
      }
    }
  })

  it("ends only dependents of its generation or an earlier one, however late the end arrives", () => {
    let told = 0
    for (const { snapshot, steps } of reached) {
      const { generation } = snapshot.context as SandboxContext
      for (const { verdict } of steps) {
        if (verdict.type !== "accepted") continue
        for (const { params } of verdict.commands.filter(({ type }) => type === "closeDependents")) {
          assert.deepInclude(params, { generation })
          told++
        }
      }
    }
    assert.isAbove(told, 0)
  })

  it("gives the reason of a stop by the service to its dependents and until its next start; a client's stop needs none", () => {
    const seen = new Set<string>()
    for (const { state, event, verdict } of stepsOf("STOP")) {
      if (verdict.type !== "accepted" || state === "stopping" || state === "restoring") continue
      const { statusReason } = verdict.snapshot.context as SandboxContext
      const told = verdict.commands.find(({ type }) => type === "closeDependents")!.params as { readonly code: string }
      seen.add(state)
      assert.deepStrictEqual(statusReason, (event["reason"] ?? null) as SandboxContext["statusReason"])
      assert.strictEqual(told.code, statusReason?.code ?? "SANDBOX_STOPPED")
    }
    assert.sameMembers([...seen], ["pending", "running", "sleeping"])
    for (const { state, verdict, from } of stepsOf("RUNTIME_STOPPED")) {
      if (verdict.type !== "accepted" || verdict.snapshot.value !== "stopped") continue
      const { statusReason } = verdict.snapshot.context as SandboxContext
      assert.deepStrictEqual(statusReason, JSON.parse(from).context.statusReason, state)
    }
    for (const { verdict } of stepsOf("START")) {
      if (verdict.type !== "accepted" || verdict.snapshot.value !== "pending") continue
      assert.isNull((verdict.snapshot.context as SandboxContext).statusReason)
    }
  })

  it("withdraws a waiting start when the service stops it, and gives the reason", () => {
    let overruled = 0
    for (const { state, event, verdict, from } of stepsOf("STOP")) {
      if (state !== "stopping" || verdict.type !== "accepted") continue
      const before = JSON.parse(from).context as SandboxContext
      const { startRequested, statusReason } = verdict.snapshot.context as SandboxContext
      const says = before.startRequested && event["reason"] !== undefined
      if (says) overruled++
      assert.isFalse(startRequested)
      assert.deepStrictEqual(statusReason, says ? event["reason"] : before.statusReason)
    }
    assert.isAbove(overruled, 0)
  })

  it("is metered whenever it begins or ends to run, gets other sizes, and when it is deleted", () => {
    let metered = 0
    for (const { snapshot, steps } of reached) {
      for (const { event, verdict } of steps) {
        if (verdict.type !== "accepted") continue
        const isResized = (event["changes"] as { readonly profile?: unknown } | undefined)?.profile !== undefined
        const [from, to] = [snapshot.value, verdict.snapshot.value]
        const isWanted = (from === "running") !== (to === "running") || (to === "deleted" && from !== "deleted")
        const times = verdict.commands.filter(({ type }) => type === "meter").length
        assert.strictEqual(times, isWanted || isResized ? 1 : 0, `${from} ${to}`)
        metered += times
      }
    }
    assert.isAbove(metered, 0)
  })

  /** A queue's effect on a boot's deadline. */
  const moved = new Set(
    stepsOf("BOOT_WAITS").flatMap(({ event, verdict }) =>
      verdict.type === "accepted" ? [Math.ceil(event["until"] as number)] : []
    )
  )
  const isMoved = ({ value }: { readonly value: unknown }, at: number | undefined) =>
    value === "pending" && at !== undefined && moved.has(at)

  it("has a deadline for every boot, while it runs for its idleness, for the ends of its lifetime, for a checkpoint where it can take one, and for nothing else", () => {
    const ends = new Set<string>()
    for (const { key, snapshot } of reached) {
      const context = snapshot.context as SandboxContext
      const { generation, updatedAt, bootTimeoutMs, idleStopAt, lifetime, checkpointAt } = context
      const { idle, ...deadlines } = JSON.parse(key).deadlines
      if (isMoved(snapshot, deadlines.boot?.at)) deadlines.boot.at = Math.ceil(updatedAt + bootTimeoutMs)
      if (idle !== undefined) assert.deepStrictEqual([snapshot.value, idle.event], ["running", { type: "IDLE_DUE" }])
      const wanted = (name: string, at: number | null, event: object) => (at === null ? {} : { [name]: { at, event } })
      const isKept = snapshot.value === "stopped" || snapshot.value === "failed"
      assert.deepStrictEqual(deadlines, {
        ...(snapshot.value === "pending"
          ? wanted("boot", Math.ceil(updatedAt + bootTimeoutMs), { type: "BOOT_TIMEOUT", generation })
          : {}),
        ...wanted("stop", stopsAt(context), { type: "STOP_DUE" }),
        ...wanted("idleStop", idleStopAt, { type: "IDLE_STOP_DUE" }),
        ...(snapshot.hasTag("capturable") ? wanted("checkpoint", checkpointAt, { type: "CHECKPOINT_DUE" }) : {}),
        ...(isKept ? wanted("deletion", deletesAt(context), { type: "DELETE_DUE" }) : {})
      })
      for (const name of Object.keys(deadlines)) ends.add(`${snapshot.value} ${name}`)
      const runs = ["running", "sleeping"].includes(snapshot.value as string)
      if (runs && lifetime?.stopAfterIdleSeconds) assert.isNotNull(idleStopAt)
      if (!runs && snapshot.value !== "pending") assert.deepStrictEqual([context.upAt, idleStopAt], [null, null])
    }
    assert.includeMembers(
      [...ends],
      [
        "pending stop",
        "sleeping idleStop",
        "running stop",
        "stopped deletion",
        "failed deletion",
        "sleeping checkpoint",
        "stopped checkpoint"
      ]
    )
  })

  it("takes a checkpoint at its time and at a stop that is to have one, and at rest only of what ran since the last", () => {
    const taken = new Set<string>()
    for (const { snapshot, steps } of reached) {
      const context = snapshot.context as SandboxContext
      for (const { event, verdict } of steps) {
        if (verdict.type !== "accepted") continue
        const [from, to] = [snapshot.value as string, verdict.snapshot.value as string]
        const after = verdict.snapshot.context as SandboxContext
        if (!verdict.commands.some(({ type }) => type === "takeCheckpoint")) {
          const isEnd = from === "stopping" && to === "stopped" && event.type === "RUNTIME_STOPPED"
          assert.isFalse(isEnd && context.checkpoints?.onStop === true && context.ranSinceCheckpoint)
          continue
        }
        assert.isTrue(context.ranSinceCheckpoint)
        assert.deepStrictEqual(after.lastCheckpoint, { at: event["at"] as number, snapshotId: null, error: null })
        assert.strictEqual(after.ranSinceCheckpoint, from === "running")
        assert.strictEqual(after.checkpointAt !== null, from === "running")
        assert.strictEqual(after.updatedAt !== context.updatedAt && from === to, false)
        taken.add(`${from} ${event.type} ${to}`)
      }
    }
    assert.sameMembers(
      [...taken],
      [
        "running CHECKPOINT_DUE running",
        "sleeping CHECKPOINT_DUE sleeping",
        "stopped CHECKPOINT_DUE stopped",
        "stopping RUNTIME_STOPPED stopped"
      ]
    )
  })

  it("gives the part of its lifetime that ended its run, to its dependents too", () => {
    for (const [type, code] of [
      ["STOP_DUE", "LIFETIME_ENDED"],
      ["WAS_IDLE", "IDLE_TOO_LONG"]
    ] as const) {
      let ended = 0
      for (const { verdict } of stepsOf(type)) {
        if (verdict.type !== "accepted") continue
        const told = verdict.commands.find(({ type }) => type === "closeDependents")!.params as {
          readonly code: string
        }
        const { statusReason } = verdict.snapshot.context as SandboxContext
        assert.deepStrictEqual([verdict.snapshot.value, statusReason?.code, told.code], ["stopping", code, code])
        ended++
      }
      assert.isAbove(ended, 0)
    }
  })

  it("accepts an update only for its present edition, keeps its creation input, and stays in its state", () => {
    let taken = 0
    for (const { state, event, verdict, from } of stepsOf("CHANGED")) {
      if (verdict.type !== "accepted") continue
      const before = JSON.parse(from).context as SandboxContext
      const context = verdict.snapshot.context as SandboxContext
      assert.deepStrictEqual([verdict.snapshot.value, event["edition"]], [state, before.edition])
      assert.deepInclude(context, { ...(event["changes"] as object), edition: before.edition + 1 })
      const { name, metadata, env, lifetime, profile, checkpoints } = inputOf(before)
      assert.deepStrictEqual(context.madeWith, {
        name,
        metadata,
        env,
        lifetime,
        profile,
        checkpoints: checkpoints ?? null
      })
      assert.strictEqual(context.updatedAt, before.updatedAt)
      taken++
    }
    assert.isAbove(taken, 0)
  })

  it("is stopped with its lost host in every state in which part of it may be there, and only in that generation", () => {
    const from: Record<string, Set<string>> = {}
    for (const { state, event, verdict, from: before } of stepsOf("HOST_LOST")) {
      const { generation, startedAt, startRequested } = JSON.parse(before).context as SandboxContext
      if ((event["generation"] ?? generation) !== generation) {
        assert.strictEqual(verdict.type, "refused", state)
        continue
      }
      if (verdict.type !== "accepted") {
        assert.include(["stopped", "failed", "expired", "deleting", "deleted"], state)
        assert.deepInclude(verdict, { type: "refused", code: "STALE_RUNTIME_EVENT" })
        continue
      }
      const to = verdict.snapshot.value as string
      const context = verdict.snapshot.context as SandboxContext
      from[state] = (from[state] ?? new Set()).add(to)
      assert.strictEqual(to, state === "pending" && generation === 1 && startedAt === null ? "failed" : "stopped")
      const reason = event["reason"] as NonNullable<SandboxContext["statusReason"]>
      assert.strictEqual(context.generation, generation)
      if (to === "failed") {
        // It had never booted, so its volume is empty; the message says so instead of the reason's own text.
        assert.strictEqual(context.statusReason?.code, reason.code)
        assert.include(context.statusReason?.message, "Nothing was in it")
        continue
      }
      assert.deepStrictEqual(context.statusReason, reason)
      assert.isFalse(context.startRequested, `${startRequested}`)
      assert.isNotNull(context.stoppedAt)
      assert.isNull(context.upAt)
      const commands = verdict.commands.map(({ type }) => type)
      // A host that does not answer gets no command, and nothing goes on.
      assert.include(commands, "leaveRuntime")
      assert.notInclude(commands, "stopRuntime")
      const told = verdict.commands.find(({ type }) => type === "closeDependents")?.params
      if (state === "stopping" || state === "restoring") assert.isUndefined(told)
      else assert.deepInclude(told, { code: "SANDBOX_LOST", generation })
    }
    assert.deepStrictEqual(Object.fromEntries(Object.entries(from).map(([state, to]) => [state, [...to].sort()])), {
      pending: ["failed", "stopped"],
      running: ["stopped"],
      sleeping: ["stopped"],
      stopping: ["stopped"],
      restoring: ["stopped"]
    })
  })

  it("replaces the volume only once its runtime has ended, and tells the outcome of each rollback", () => {
    for (const { state, event, verdict } of stepsOf("ROLLBACK")) {
      if (verdict.type !== "accepted") {
        assert.notInclude(["running", "sleeping", "stopped"], state)
        continue
      }
      const { rollback, startRequested } = verdict.snapshot.context as SandboxContext
      assert.deepStrictEqual([rollback?.snapshotId, rollback?.keptId], [event["snapshotId"], event["keptId"]])
      assert.strictEqual(rollback?.outcome, "open")
      assert.strictEqual(startRequested, state !== "stopped")
      assert.strictEqual(verdict.snapshot.value, state === "stopped" ? "restoring" : "stopping")
    }
    for (const { snapshot, steps } of reached) {
      const isOpen = (snapshot.context as SandboxContext).rollback?.outcome === "open"
      if (isOpen) assert.include(["stopping", "restoring"], snapshot.value)
      else assert.notStrictEqual(snapshot.value, "restoring")
      for (const { verdict } of steps) {
        if (verdict.type !== "accepted" || !verdict.commands.some(({ type }) => type === "restoreVolume")) continue
        assert.include(["stopped", "stopping"], snapshot.value)
        assert.strictEqual(verdict.snapshot.value, "restoring")
      }
    }
  })

  it("reads a context of each earlier version as this one", () => {
    const { context } = reached.find(({ snapshot }) => snapshot.value === "running")!.snapshot as {
      readonly context: SandboxContext
    }
    const { hostId: _, ...ofTwo } = context
    assert.deepStrictEqual(ofThisVersion("running", ofTwo as SandboxContext), { ...context, hostId: null })
    const { env, lifetime, upAt, idleStopAt, edition, madeWith, ...ofOne } = ofTwo
    assert.deepStrictEqual(ofThisVersion("running", ofOne as SandboxContext), {
      ...ofOne,
      ...{
        hostId: null,
        env: null,
        lifetime: null,
        upAt: context.startedAt,
        idleStopAt: null,
        edition: 1,
        madeWith: null
      }
    })
    assert.strictEqual(ofThisVersion("running", context), context)
  })
})
