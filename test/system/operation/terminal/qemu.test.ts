/** A shell in a virtual machine, as a person uses it over the service's own port. */
import { describe, layer } from "@effect/vitest"
import { Layer } from "effect"
import { freshDriver, machineSettings, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { endsWithItsConnection, followsItsUser, withSandbox } from "./shellContract.ts"

describe.skipIf(unusable !== null)("a terminal in a VM", () => {
  layer(ServedAtoll.layer(freshDriver(), machineSettings).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true,
    timeout: TIMEOUT_MS
  })((it) => {
    it.effect(
      "follows its user, and ends with its connection",
      () =>
        withSandbox(async (...given) => {
          await followsItsUser(...given)
          await endsWithItsConnection(...given)
        }),
      TIMEOUT_MS
    )
  })
})
