/**
 * A runtime that lies: that it runs Sandboxes of its neighbours, strangers, and its own later generations; that those
 * of its neighbours have crashed; and that it did the work that it was given.
 */

import { randomBytes } from "node:crypto"
import { readdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { Effect, Stream } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { sandboxIdsIn } from "../../../src/host/linux/SandboxRecords.ts"
import type { InventoryEntry, Runtime, RuntimeDown } from "../../../src/runtime/Runtime.ts"

/** Sandboxes with files on the hosts whose data folders lie beside this one. */
const ofNeighbours = (dataDir: string): ReadonlyArray<string> =>
  readdirSync(dirname(dataDir)).flatMap((name) => {
    const other = join(dirname(dataDir), name)
    return other === dataDir || !name.startsWith("host-") ? [] : sandboxIdsIn(join(other, "runtime", "namespace"))
  })

const stranger = `sbx_${randomBytes(12).toString("hex")}`

export const lying = (runtime: Runtime["Service"], dataDir: string): Runtime["Service"] => ({
  ...runtime,
  provision: (_, turn) => Effect.sync(() => turn?.()),
  stop: () => Effect.void,
  destroy: () => Effect.void,
  inventory: Effect.map(runtime.inventory, (found) => [
    ...found.map((entry): InventoryEntry => ({ ...entry, state: "running", generation: (entry.generation ?? 0) + 1 })),
    ...[...ofNeighbours(dataDir), stranger].map(
      (sandboxId): InventoryEntry => ({ sandboxId, state: "running", generation: 1 })
    )
  ]),
  downs: Stream.unwrap(
    Effect.sync(() =>
      Stream.fromIterable(
        [...ofNeighbours(dataDir), stranger].flatMap((sandboxId) =>
          [1, 2, 3].map(
            (generation): RuntimeDown => ({
              type: "down",
              sandboxId,
              generation,
              reason: { code: "CRASHED", message: publicText`It did not.` }
            })
          )
        )
      ).pipe(Stream.concat(Stream.never))
    )
  )
})
