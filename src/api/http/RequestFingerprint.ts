/** The fingerprint of a request with a decoded JSON body. */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { fingerprint } from "../../account/idempotency/Fingerprint.ts"
import { pathOf } from "./RequestTarget.ts"

export const fingerprintOf = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<string> =>
  Effect.map(Effect.orDie(request.text), (body) => fingerprint(request.method, pathOf(request) ?? "", body))
