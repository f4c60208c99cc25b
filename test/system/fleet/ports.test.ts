/**
 * The ports between services and hosts admit only members of the fleet: no program inside a Sandbox, and no other user
 * of the machine.
 */
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { describe } from "vitest"
import { dial } from "../../../src/peer/dial.ts"
import type { PeerProtocol } from "../../../src/peer/PeerSockets.ts"
import { secretProof } from "../../../src/peer/SecretProof.ts"
import { actorsPort, Fleet, fleetPort } from "../../support/fleet/Fleet.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { refusal } from "./refusal.ts"
import { soon } from "./soon.ts"

const nobodyId = "65534"
/** Of TLS: 21, the version, two bytes of length, "fatal", and the reason. */
const alertBytes = 7
const shellWithinMs = 60_000

interface Door {
  readonly host: string
  readonly port: number
  readonly protocol: PeerProtocol
}

/**
 * Connects, sends something, and returns the number of bytes that it got until it was cut; `closed` where it was not
 * even accepted.
 */
const knock = ({ host, port }: Omit<Door, "protocol">) =>
  `(exec 3<>/dev/tcp/${host}/${port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && timeout 10 head -c 100 <&3 | wc -c) 2>/dev/null || echo closed`

const bash = (script: string, before: ReadonlyArray<string> = []) =>
  new Promise<string>((resolve, reject) => {
    const [program, ...words] = [...before, "bash", "-c", script]
    execFile(program!, words, { timeout: shellWithinMs }, (fault, stdout) =>
      fault === null ? resolve(stdout.trim()) : reject(fault)
    )
  })

const lets = (secretFile: string, { host, port, protocol }: Door) =>
  Effect.gen(function* () {
    const proof = yield* secretProof(secretFile)
    return yield* dial(proof, { host, port }, protocol)
  }).pipe(Effect.scoped, Effect.exit, Effect.map(Exit.isSuccess))

describe.skipIf(refusal !== null)("the ports of a fleet", () => {
  it.live("admit peers with the secret, and no others", () =>
    Effect.gen(function* () {
      const fleet = yield* Fleet.make({ hosts: 1 })
      const doors: ReadonlyArray<Door> = [
        ...fleet.services.flatMap(
          ({ host }): ReadonlyArray<Door> => [
            { host, port: fleetPort, protocol: "atoll-join/1" },
            { host, port: actorsPort, protocol: "atoll-actors/1" }
          ]
        ),
        ...fleet.hosts.flatMap(
          ({ host }): ReadonlyArray<Door> => [
            { host, port: fleetPort, protocol: "atoll-host/1" },
            { host, port: fleetPort, protocol: "atoll-agent/1" }
          ]
        )
      ]
      const others = join(fleet.folder, "others")
      writeFileSync(others, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600 })
      for (const door of doors) {
        assert.isTrue(yield* lets(fleet.secretFile, door), JSON.stringify(door))
        assert.isFalse(yield* lets(others, door), JSON.stringify(door))
      }
      yield* Effect.promise(async () => {
        const asNobody = ["setpriv", `--reuid=${nobodyId}`, `--regid=${nobodyId}`, "--clear-groups", "--"]
        assert.strictEqual(await bash(`cat ${fleet.secretFile} 2>/dev/null || echo refused`, asNobody), "refused")
        for (const door of doors) {
          const told = await bash(knock(door), asNobody)
          assert.isAtMost(Number(told), alertBytes, `${JSON.stringify(door)}: ${told}`)
        }
        const [service] = fleet.services
        const { body } = await service!.ask("POST", "/workspaces", { name: "ports" }, "w")
        for (const networkEnabled of [true, false]) {
          const request = { workspaceId: body.workspace.id, networkEnabled }
          const { sandbox } = (await service!.ask("POST", "/sandboxes", request, `s${networkEnabled}`)).body
          const wrong = await soon(async () => {
            const { status } = (await service!.ask("GET", `/sandboxes/${sandbox.id}`)).body.sandbox
            return status === "running" ? [] : [`${sandbox.id} is ${status}\n${fleet.log}`]
          })
          assert.deepStrictEqual(wrong, [])
          const script = doors.map(knock).join("\n")
          const answer = await service!.ask("POST", `/sandboxes/${sandbox.id}/execute`, {
            argv: ["bash", "-c", script],
            timeoutSeconds: shellWithinMs / 1000
          })
          assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
          assert.deepStrictEqual(
            answer.body.result.stdout.trim().split("\n"),
            doors.map(() => "closed"),
            JSON.stringify({ networkEnabled, ...answer.body.result })
          )
        }
        assert.deepStrictEqual(await fleet.retire(), [])
      })
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer))
  )
})
