/** All scenarios. `test/unit/proofs/crashScenarios.test.ts` says which endpoints are in none. */
import { connectionScenarios } from "./connections.ts"
import { fileScenarios } from "./files.ts"
import { fleetScenarios } from "./fleet.ts"
import { imageScenarios } from "./images.ts"
import { operationScenarios } from "./operations.ts"
import { operatorScenarios } from "./operator.ts"
import { peopleScenarios } from "./people.ts"
import type { Scenario } from "./Scenario.ts"
import { sandboxScenarios } from "./sandboxes.ts"
import { snapshotScenarios } from "./snapshots.ts"

export const scenarios: ReadonlyArray<Scenario> = [
  ...sandboxScenarios,
  ...snapshotScenarios,
  ...imageScenarios,
  ...operationScenarios,
  ...connectionScenarios,
  ...fileScenarios,
  ...peopleScenarios,
  ...operatorScenarios,
  ...fleetScenarios
]
