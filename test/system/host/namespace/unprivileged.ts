/**
 * A service that is not root: boots a Sandbox, prints its findings as JSON, destroys it. A program for
 * unprivileged.test.ts.
 */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { goneWithin, isAlive, signal } from "../../../../src/host/linux/ProcessIdentity.ts"
import { networkObstacle } from "../../../../src/host/namespace/probe.ts"
import { commandSpec, output, run } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { openHost } from "./openHost.ts"
import { thicket } from "./thicket.ts"

const host = await openHost(process.argv[2]!)
const networkEnabled = networkObstacle() === null
await host.provision(sandboxSpec("plain", { networkEnabled }))
const guest = host.guest("plain", 1)!
const tell = (script: string) => Effect.runPromise(output(guest, script))
const told = {
  uid: process.getuid?.(),
  networkEnabled,
  inside: await tell("id -u; cat /proc/self/status | grep -E 'CapEff|NoNewPrivs|Seccomp:'"),
  files: await tell("echo kept > file; cat file; ls -A /tmp"),
  interfaces: await tell("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | sort"),
  routes: await tell("ip route"),
  sealed: await tell("for p in /proc/[0-9]*; do grep -aq ^/opt/atoll/node $p/cmdline && cat $p/maps 2>&1; done; true"),
  terminals: await tell(
    `python3 -c "
import os
held = []
try:
  while len(held) < 1000: held.append(os.open('/dev/ptmx', os.O_RDWR))
except OSError as e: print(len(held), e.errno)"`
  ),
  change: await tell("ip route del default 2>&1; ip link set lo down 2>&1; true")
}
const slirp = host.layout.state("plain").runtime()!.network ?? null
if (slirp !== null) signal(slirp, "SIGKILL")
const mended =
  slirp === null || ((await goneWithin(() => isAlive(slirp), 10_000)) && (await host.mendNetworks()).join())
const routesAgain = await tell("ip route")
for (const folder of ["/tmp", "/workspace"]) {
  await Effect.runPromise(run(guest, commandSpec(["python3", "-c", thicket(folder)])))
}
await host.stop("plain", 1)
await host.provision(sandboxSpec("plain", { generation: 2 }))
const again = await Effect.runPromise(output(host.guest("plain", 2)!, "cat file"))
const fresh = await Effect.runPromise(output(host.guest("plain", 2)!, "ls -A /tmp"))
const { stateFolder } = host.layout
/** The guest's user is the service's, and may have closed folders to itself: they are deleted all the same. */
const stale = join(stateFolder, "plain", "volume", "stale")
const temporaryGone = await goneWithin(() => existsSync(stale), 30_000)
await host.destroy("plain")
const trash = join(stateFolder, ".trash")
const volumeGone = await goneWithin(() => readdirSync(trash).length > 0, 30_000)
const left = [...host.inventory(), ...readdirSync(host.layout.stateFolder).filter((it) => !it.startsWith("."))]
await host.close()
console.log(JSON.stringify({ ...told, again, mended, routesAgain, fresh, left, temporaryGone, volumeGone }))
process.exit(0)
