/** The contract refuses what a Sandbox must never do: each history is right but for one answer. */
import { assert, describe, it } from "vitest"
import { linearize } from "../../../../src/proofs/linear/linearize.ts"
import { contract, contractOf } from "../../../proofs/linear/contract/contract.ts"
import { cases } from "./cases.ts"
import { rollbackCases } from "./rollbackCases.ts"
import { command, get, inTurn, log, lost, refused, running, start, stop } from "./rows.ts"
import { snapshotCases } from "./snapshotCases.ts"

describe("the contract", () => {
  it.each([...cases, ...snapshotCases, ...rollbackCases])("%s", (_, before, right, wrong) => {
    assert.strictEqual(linearize(contract, inTurn([...before, right])).is, "linearizable")
    assert.strictEqual(linearize(contract, inTurn([...before, wrong])).is, "refused")
  })

  it("allows a lost change to take effect later, or never", () => {
    for (const status of ["running", "stopping", "stopped"]) {
      assert.strictEqual(linearize(contract, inTurn([...running, lost(stop()), get(status)])).is, "linearizable")
    }
  })

  it("lets a runtime end by itself where hosts may be lost, and says why", () => {
    const fleet = contractOf({ hostsEnd: true })
    const lostHost = [...running, command("begin", "1-hangs", "queued"), get("stopped", { reason: "HOST_LOST" })]
    assert.strictEqual(linearize(fleet, inTurn(lostHost)).is, "linearizable")
    assert.strictEqual(linearize(contract, inTurn(lostHost)).is, "refused")
    assert.strictEqual(linearize(fleet, inTurn([...running, get("stopped")])).is, "refused")
    const later = [...lostHost, start(null, { generation: 2 })]
    const [right, wrong] = [command("look", "1-hangs", "failed"), command("look", "1-hangs", "running")]
    assert.strictEqual(linearize(fleet, inTurn([...later, right])).is, "linearizable")
    assert.strictEqual(linearize(fleet, inTurn([...later, get("stopped", { reason: "HOST_LOST" })])).is, "refused")
    assert.strictEqual(linearize(fleet, inTurn([...later, right, wrong])).is, "refused")
  })
  it("lets a start be accepted that is refused because the host was lost before the restart", () => {
    const fleet = contractOf({ hostsEnd: true })
    const refusedStart = [start(null, {})[0], refused("SANDBOX_UNAVAILABLE", "stopped")] as const
    const rows = [...running, lost(stop()), refusedStart, get("stopped", { reason: "HOST_LOST" })]
    for (const entries of [["START", "stopped"], ["stopped"]]) {
      const all = inTurn([...rows, log("pending", "running", "stopping", ...entries)])
      assert.strictEqual(linearize(fleet, all).is, "linearizable")
      assert.strictEqual(linearize(contract, all).is, "refused")
    }
  })
})
