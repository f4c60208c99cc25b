/** The explored commands are those of the interpreters, in the same lanes. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"
import {
  accessCommands,
  grantCommands,
  operationCommands,
  previewCommands
} from "../../../proofs/product/dependentCommands.ts"
import { imageCommands } from "../../../proofs/product/images.ts"
import { sandboxCommands } from "../../../proofs/product/sandboxCommands.ts"
import { hostCommands, walletCommands } from "../../../proofs/product/sharedCommands.ts"
import { snapshotCommands } from "../../../proofs/product/snapshots.ts"

const source = join(import.meta.dirname, "../../../../src")

/** As the definitions are written: `name: { lane: "lane",` or `name: { lane: null,`. */
const lanesIn = (file: string) =>
  Object.fromEntries(
    [...readFileSync(join(source, file), "utf8").matchAll(/(\w+): \{\s*lane: (?:null|"(\w+)")/g)].map(
      ([, name, lane]) => [name!, lane ?? null] as const
    )
  )

it.each([
  ["sandbox/SandboxDefinition.ts", sandboxCommands],
  ["operation/OperationDefinition.ts", operationCommands],
  ["access/preview/PreviewDefinition.ts", previewCommands],
  ["access/serviceAccess/ServiceAccessDefinition.ts", accessCommands],
  ["access/ssh/GrantDefinition.ts", grantCommands],
  ["wallet/WalletDefinition.ts", walletCommands],
  ["fleet/HostDefinition.ts", hostCommands],
  ["snapshot/SnapshotDefinition.ts", snapshotCommands],
  ["image/ImageDefinition.ts", imageCommands]
])("%s", (file, commands) => {
  const explored = Object.fromEntries(Object.entries(commands).map(([name, { lane }]) => [name, lane]))
  assert.deepStrictEqual(explored, lanesIn(file))
})
