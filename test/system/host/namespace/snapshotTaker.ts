/** A service that takes a snapshot of a Sandbox and removes it, over and over, until it is killed: a program for snapshotKills.test.ts. */
import { Effect } from "effect"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { openHost } from "./openHost.ts"

const host = await openHost(process.argv[2]!)
await host.provision(sandboxSpec("source", { volumeBytes: 512 * 1024 ** 2 }))
const guest = host.guest("source", 1)
if (guest === null) throw new Error("the Sandbox does not run")
await Effect.runPromise(
  output(guest, "[ -e sum ] || { head -c 200000000 /dev/urandom > bytes; sha256sum bytes > sum; }; sync")
)
console.log("filled")
for (;;) {
  await host.snapshots.capture("snap", "source")
  await host.snapshots.remove("snap")
}
