import { describe } from "@effect/vitest"
import { runtimeContract } from "../../runtime/contract/runtimeContract.ts"
import { freshDriver, skipped, unusable } from "./TestHost.ts"

describe.skipIf(skipped(unusable))("namespace driver", () => {
  runtimeContract("namespace", freshDriver())
})
