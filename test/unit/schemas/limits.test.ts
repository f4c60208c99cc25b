import { expect, it } from "vitest"
import * as limits from "../../../schemas/Limits.ts"

/** The contract's limits: other tests take the values from the code, so that only this one holds them. */
const contract = {
  workspacesPerAccount: 10,
  jsonBodyMaxBytes: 131_072,
  fileContentMaxBytes: 8_388_608,
  pathMaxCharacters: 4096,
  cursorMaxCharacters: 4096,
  nameMaxCharacters: 128,
  metadataMaxPairs: 32,
  metadataKeyMaxCharacters: 64,
  metadataValueMaxCharacters: 512,
  idempotencyKeyMaxCharacters: 255,
  requestIdMaxCharacters: 128,
  pageMax: 1000,
  pageDefault: 100,
  filePageMax: 1000,
  filePageDefault: 1000,
  logEntriesMax: 5000,
  logEntriesDefault: 1000,
  argvMaxItems: 1024,
  executeStreamMaxBytes: 1_048_576,
  executeTimeoutMaxSeconds: 300,
  executeTimeoutDefaultSeconds: 60,
  operationTimeoutMaxSeconds: 86_400,
  operationWaitMaxSeconds: 30,
  operationOutputChunkMaxBytes: 262_144,
  operationOutputChunkDefaultBytes: 65_536,
  offsetMax: 9_007_199_254_740_991,
  analyticsResolutionMinSeconds: 60,
  analyticsResolutionMaxSeconds: 86_400,
  analyticsResolutionDefaultSeconds: 300,
  analyticsSamplesMax: 2000,
  previewLifetimeSeconds: 3600,
  serviceAccessPortsMax: 8,
  serviceAccessLifetimeSeconds: 3600,
  serviceAccessClockToleranceSeconds: 60,
  cooperativeGrantSeconds: 30,
  cooperativeKeysMax: 4,
  heartbeatSeconds: 15,
  runningWaitSeconds: 30
}

it("the limits are those of the contract", () => {
  expect(limits).toMatchObject(contract)
})
