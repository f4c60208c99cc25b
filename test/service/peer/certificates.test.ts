/** Connections of a fleet whose operator has given each process a certificate. */
import { execFileSync } from "node:child_process"
import { appendFileSync, copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SettingsUnusable } from "../../../src/Config.ts"
import { authority, type Signed } from "../../support/authority.ts"
import { echo, line, listening, logged, loopback, peer, refusal, until } from "../../support/peer/TestPeers.ts"
import { testFolder } from "../../support/testFolder.ts"

const folder = mkdtempSync(join(tmpdir(), "atoll-peers-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const ours = authority(folder, "ours")
const theirs = authority(folder, "theirs")
const hostCertificate = ours.sign("host", "DNS:atoll-host")
const serviceCertificate = ours.sign("service", "DNS:atoll-service,DNS:service.example.org")

const environment = ({ certFile, keyFile }: Signed, role: "service" | "host", caFile = ours.caFile) => ({
  ATOLL_ROLE: role,
  ATOLL_FLEET_CERT_FILE: certFile,
  ATOLL_FLEET_KEY_FILE: keyFile,
  ATOLL_FLEET_CA_FILE: caFile
})

const host = (signed: Signed = hostCertificate, caFile = ours.caFile) => peer(environment(signed, "host", caFile))
const service = (signed: Signed = serviceCertificate, caFile = ours.caFile) =>
  peer(environment(signed, "service", caFile))

const put = (from: string, to: string): void => {
  copyFileSync(from, `${to}.new`)
  renameSync(`${to}.new`, to)
}

describe("a fleet with certificates", () => {
  it.live("opens a host's ports to services, and a service's to both or to services alone, by protocol", () =>
    Effect.gen(function* () {
      const [aHost, another, aService, second] = [yield* host(), yield* host(), yield* service(), yield* service()]
      const ofHost = yield* listening(aHost, ["atoll-host/1", "atoll-agent/1"])
      const ofService = yield* listening(aService, ["atoll-join/1", "atoll-actors/1"])
      assert.isNull(yield* refusal(aService, ofHost.port, "atoll-host/1"))
      assert.isNull(yield* refusal(aService, ofHost.port, "atoll-agent/1"))
      assert.isNull(yield* refusal(aHost, ofService.port, "atoll-join/1"))
      assert.isNull(yield* refusal(second, ofService.port, "atoll-join/1"))
      assert.isNull(yield* refusal(second, ofService.port, "atoll-actors/1"))
      assert.deepStrictEqual([ofHost.met.length, ofService.met.length], [2, 3])

      const refused = "nothing is there which has a certificate for that"
      assert.include(yield* refusal(another, ofHost.port, "atoll-host/1"), refused)
      assert.include(yield* refusal(another, ofHost.port, "atoll-agent/1"), refused)
      assert.include(yield* refusal(another, ofService.port, "atoll-actors/1"), refused)
      assert.deepStrictEqual([ofHost.met.length, ofService.met.length], [2, 3])
    })
  )

  it.live("connects to the host that it names, and to none of another name", () =>
    Effect.gen(function* () {
      const aService = yield* service()
      const rack = yield* host(ours.sign("rack", "DNS:atoll-host,DNS:Rack-1.atoll-host"))
      const { port, met } = yield* listening(rack, ["atoll-host/1", "atoll-agent/1"])
      assert.isNull(yield* refusal(aService, port, "atoll-host/1", "rack-1"))
      assert.isNull(yield* refusal(aService, port, "atoll-agent/1", "rack-1"))
      // A host that joined without a name may have one by now.
      assert.isNull(yield* refusal(aService, port, "atoll-host/1"))
      const anybody = yield* listening(yield* host(), ["atoll-host/1"])
      const wild = yield* listening(yield* host(ours.sign("wild", "DNS:atoll-host,DNS:*.atoll-host")), ["atoll-host/1"])
      for (const [there, protocol, name] of [
        [port, "atoll-host/1", "rack-2"],
        [port, "atoll-agent/1", "rack-2"],
        [port, "atoll-host/1", "rack"],
        [anybody.port, "atoll-host/1", "rack-1"],
        [wild.port, "atoll-host/1", "rack-1"]
      ] as const) {
        assert.include(yield* refusal(aService, there, protocol, name), "a certificate for that", `${protocol} ${name}`)
      }
      assert.deepStrictEqual([met.length, anybody.met.length, wild.met.length], [3, 0, 0])
    })
  )

  it.live("does not take a service for a host, nor a host for a service", () =>
    Effect.gen(function* () {
      const [aHost, aService] = [yield* host(), yield* service()]
      const posing = yield* listening(aService, ["atoll-host/1"])
      assert.include(yield* refusal(aService, posing.port, "atoll-host/1"), "a certificate for that")
      const lurking = yield* listening(aHost, ["atoll-join/1"])
      assert.include(yield* refusal(aHost, lurking.port, "atoll-join/1"), "a certificate for that")
      assert.deepStrictEqual([posing.met.length, lurking.met.length], [0, 0])
    })
  )

  it.live("refuses peers with a certificate of another authority, an expired one, or only a secret", () =>
    Effect.gen(function* () {
      const [aHost, aService] = [yield* host(), yield* service()]
      const { port, met } = yield* listening(aHost, ["atoll-host/1"])
      const foreign = theirs.sign("service", "DNS:atoll-service")
      assert.isNotNull(yield* refusal(yield* service(foreign, theirs.caFile), port, "atoll-host/1"))
      assert.isNotNull(yield* refusal(yield* service(foreign, ours.caFile), port, "atoll-host/1"))
      const expired = ours.sign("late", "DNS:atoll-service", true)
      assert.isNotNull(yield* refusal(yield* service(expired), port, "atoll-host/1"))
      const named = ours.sign("wild", "DNS:*,DNS:atoll-service.example.org")
      assert.include(
        (yield* service(named).pipe(Effect.scoped, Effect.flip)).message,
        "it must be for DNS:atoll-service"
      )
      const secretFile = join(yield* testFolder, "secret")
      writeFileSync(secretFile, "s".repeat(32), { mode: 0o600 })
      assert.isNotNull(yield* refusal(yield* peer({ ATOLL_FLEET_SECRET_FILE: secretFile }), port, "atoll-host/1"))
      assert.strictEqual(met.length, 0)
      assert.isNull(yield* refusal(aService, port, "atoll-host/1"))
    })
  )

  it.live(
    "names the certificate whose time is over, of either side, and a refusal that only the other side explains",
    () =>
      Effect.gen(function* () {
        const expired = ours.sign("over", "DNS:atoll-service", true)
        const late = yield* service(expired)
        const { port } = yield* listening(yield* host(), ["atoll-host/1"])
        const own = `this process's certificate, ATOLL_FLEET_CERT_FILE, ${expired.certFile}, has expired at `
        assert.include(yield* refusal(late, port, "atoll-host/1"), own)
        yield* until(
          Effect.sync(() => logged.some((it) => it.includes(`${own[0]!.toUpperCase()}${own.slice(1)}`))),
          "a warning names the file"
        )
        const old = yield* listening(yield* host(ours.sign("old", "DNS:atoll-host", true)), ["atoll-host/1"])
        const aService = yield* service()
        assert.include(
          yield* refusal(aService, old.port, "atoll-host/1"),
          "the certificate of what is there has expired"
        )

        const revokedFile = join(yield* testFolder, "revoked")
        const print = ["x509", "-noout", "-fingerprint", "-sha256", "-in", serviceCertificate.certFile]
        writeFileSync(revokedFile, execFileSync("openssl", print))
        const strict = yield* peer({
          ...environment(hostCertificate, "host"),
          ATOLL_FLEET_REVOKED_FILE: revokedFile
        })
        const closed = yield* listening(strict, ["atoll-host/1"])
        assert.include(yield* refusal(aService, closed.port, "atoll-host/1"), "it refuses this process's certificate")
      })
  )

  it.live("changes to another authority without a stop: it accepts both for a while, and open connections stay", () =>
    Effect.gen(function* () {
      const own = yield* testFolder
      const at = (name: string) => join(own, name)
      const used = { certFile: at("crt"), keyFile: at("key") }
      put(hostCertificate.certFile, used.certFile)
      put(hostCertificate.keyFile, used.keyFile)
      put(ours.caFile, at("ca"))
      const aHost = yield* host(used, at("ca"))
      const { port } = yield* listening(aHost, ["atoll-host/1"])
      const before = yield* service()
      const both = at("both")
      writeFileSync(both, readFileSync(ours.caFile, "utf8") + readFileSync(theirs.caFile, "utf8"))
      const after = yield* service(theirs.sign("next", "DNS:atoll-service"), both)
      const accepts = (aService: typeof before) =>
        Effect.map(refusal(aService, port, "atoll-host/1"), (said) => said === null)
      const open = yield* before.connect({ host: loopback, port }, "atoll-host/1")
      assert.strictEqual(yield* Effect.promise(() => line(open)), "atoll-host/1")
      assert.isFalse(yield* accepts(after))

      put(both, at("ca"))
      yield* until(accepts(after), "the second authority is accepted")
      assert.isTrue(yield* accepts(before))
      // By now its own certificate is of the second authority, which peers with only the first do not know.
      const { certFile, keyFile } = theirs.sign("host", "DNS:atoll-host")
      put(keyFile, used.keyFile)
      put(certFile, used.certFile)
      yield* until(
        Effect.map(accepts(before), (is) => !is),
        "the host's new certificate is shown"
      )
      const late = yield* service(serviceCertificate, both)
      assert.isTrue(yield* accepts(late))
      put(theirs.caFile, at("ca"))
      yield* until(
        Effect.map(accepts(late), (is) => !is),
        "the first authority is gone"
      )
      assert.isTrue(yield* accepts(after))
      assert.strictEqual(yield* Effect.promise(() => echo(open, "still here")), "still here")
    })
  )

  it.live("refuses a peer whose certificate is revoked, and closes its connections, without a stop", () =>
    Effect.gen(function* () {
      const revoked = join(yield* testFolder, "revoked")
      writeFileSync(revoked, "# None yet.\n")
      const watching = { ATOLL_FLEET_REVOKED_FILE: revoked }
      const lost = ours.sign("lost", "DNS:atoll-host")
      const aService = yield* peer({ ...environment(serviceCertificate, "service"), ...watching })
      const [there, thief] = [yield* host(), yield* host(lost)]
      const ofService = yield* listening(aService, ["atoll-join/1"])
      const ofThief = yield* listening(thief, ["atoll-host/1"])
      const joined = yield* thief.connect({ host: loopback, port: ofService.port }, "atoll-join/1")
      const asked = yield* aService.connect({ host: loopback, port: ofThief.port }, "atoll-host/1")
      const kept = yield* there.connect({ host: loopback, port: ofService.port }, "atoll-join/1")
      for (const socket of [joined, kept]) assert.strictEqual(yield* Effect.promise(() => line(socket)), "atoll-join/1")

      const print = ["x509", "-noout", "-fingerprint", "-sha256", "-in", lost.certFile]
      appendFileSync(revoked, execFileSync("openssl", print))
      yield* until(
        Effect.sync(() => joined.destroyed && asked.destroyed),
        "what is open with it is closed"
      )
      assert.isNotNull(yield* refusal(thief, ofService.port, "atoll-join/1"))
      assert.isNotNull(yield* refusal(aService, ofThief.port, "atoll-host/1"))
      assert.isNull(yield* refusal(there, ofService.port, "atoll-join/1"))
      assert.strictEqual(yield* Effect.promise(() => echo(kept, "still here")), "still here")

      // An unreadable list does not admit it again.
      writeFileSync(revoked, "the lost one\n")
      yield* until(
        Effect.sync(() => logged.some((it) => it.includes("Line 1 of ATOLL_FLEET_REVOKED_FILE"))),
        "the log names it"
      )
      assert.isNotNull(yield* refusal(thief, ofService.port, "atoll-join/1"))
    })
  )

  it.live("names the files that cannot be used, and nothing of the key", () =>
    Effect.gen(function* () {
      const said = (settings: Readonly<Record<string, string>>) => peer(settings).pipe(Effect.scoped, Effect.flip)
      const wrongRole = yield* said(environment(serviceCertificate, "host"))
      assert.include(wrongRole.message, "with this ATOLL_ROLE it must be for DNS:atoll-host")
      const mixed = { certFile: hostCertificate.certFile, keyFile: serviceCertificate.keyFile }
      assert.include((yield* said(environment(mixed, "host"))).message, "is not that of the first certificate")
      const swapped = { certFile: hostCertificate.keyFile, keyFile: hostCertificate.keyFile }
      assert.include((yield* said(environment(swapped, "host"))).message, "holds no certificate in PEM")
      const shown = { certFile: hostCertificate.certFile, keyFile: hostCertificate.certFile }
      assert.include((yield* said(environment(shown, "host"))).message, "is open to every user of this machine")
      const half = yield* said({ ATOLL_FLEET_CERT_FILE: hostCertificate.certFile })
      assert.instanceOf(half, SettingsUnusable)
      const two = yield* said({ ...environment(hostCertificate, "host"), ATOLL_FLEET_SECRET_FILE: "/nowhere" })
      assert.include(two.message, "not both")
      const key = readFileSync(hostCertificate.keyFile, "utf8").split("\n")[1]!
      assert.notInclude(logged.join(" "), key)
    })
  )
})
