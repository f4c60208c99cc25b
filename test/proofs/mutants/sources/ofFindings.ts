// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are of sources
/** Mistakes that were once made by hand and that no test saw, outside of the machines, the journal, the mailbox, the leases and the output. */
import type { TextMutant } from "./TextMutant.ts"

export const ofFindings: ReadonlyArray<TextMutant> = [
  {
    id: "a page of exactly so many entries has a next one",
    file: "src/lists/Paging.ts",
    from: "entries.length <= limit",
    to: "entries.length < limit",
    suites: ["test/unit/lists/Paging.test.ts"]
  },
  {
    id: "a Sandbox's variable wins over the command's own",
    file: "src/operation/startProcess.ts",
    from: "{ ...(yield* envs.read(context.sandboxId, payload.sandboxEnv ?? null)), ...payload.env }",
    to: "{ ...payload.env, ...(yield* envs.read(context.sandboxId, payload.sandboxEnv ?? null)) }",
    suites: ["test/service/api/http/sandboxChanges.test.ts"]
  },
  {
    id: "the secrets of a cancelled command stay",
    file: "src/operation/endProcess.ts",
    from: "yield* dropSecrets(operationId)",
    to: "",
    suites: ["test/service/operation/processTree.test.ts"]
  },
  {
    id: "credit is low below a day's burn only",
    file: "src/wallet/Plan.ts",
    from: "most(ceilDiv(granted, 10n), burnADay)",
    to: "most(granted / 10n, burnADay)",
    suites: ["test/unit/wallet/Plan.test.ts"]
  },
  {
    id: "an expired key can be rotated",
    file: "src/account/ApiKeys.ts",
    from: "and revoked_at is null and coalesce(expires_at > ${now}, true)",
    to: "and revoked_at is null",
    suites: ["test/service/account/keys.test.ts"]
  },
  {
    id: "a reservation is raised beyond the memory of its host",
    file: "src/fleet/reservationStatements.ts",
    from: " and h.memory_promised + d.memory_bytes <= h.memory_bytes",
    to: "",
    suites: ["test/service/fleet/placement.test.ts"]
  },
  {
    id: "a listing goes on after names that it has not given",
    file: "src/agent/files/Listings.ts",
    from: " || listing.names.prefix(cursor.index) !== cursor.given",
    to: "",
    suites: ["test/unit/files/list.test.ts"]
  }
]
