/** All scenarios. `test/unit/proofs/scenarios.test.ts` says which endpoints are in none. */
import { connectionScenarios } from "./connections.ts"
import { fileScenarios } from "./files.ts"
import { fleetScenarios } from "./fleet.ts"
import { operationScenarios } from "./operations.ts"
import { operatorScenarios } from "./operator.ts"
import { peopleScenarios } from "./people.ts"
import type { Scenario } from "./Scenario.ts"
import { sandboxScenarios } from "./sandboxes.ts"

export const scenarios: ReadonlyArray<Scenario> = [
  ...sandboxScenarios,
  ...operationScenarios,
  ...connectionScenarios,
  ...fileScenarios,
  ...peopleScenarios,
  ...operatorScenarios,
  ...fleetScenarios
]
