import type { Section } from "../Rule.ts"

export const general: Section = {
  title: "General",
  rules: [
    {
      rule: "JSON is camelCase, except `requested_at`. A known field without a value is `null`.",
      decidedBy: "schemas/Optional.ts#orNull",
      heldBy: "http/sandboxes.test.ts#absent and null fields are the same, and get the contract's defaults"
    },
    {
      rule: "An absent request field and `null` mean the same.",
      decidedBy: "schemas/Optional.ts#withDefault",
      heldBy: "http/sandboxes.test.ts#absent and null fields are the same, and get the contract's defaults"
    },
    {
      rule: "Only the account's own resources are visible. An absent resource and a resource of another account get the same 404.",
      decidedBy: "src/sandbox/SandboxesLive.ts#make.find",
      heldBy:
        "http/sandboxes.test.ts#other accounts neither see nor touch a Sandbox, and get the same 404 as for one that does not exist"
    },
    {
      rule: "An unknown request field is 400 with the nearest known name.",
      decidedBy: "src/api/http/UnknownName.ts#unknownName",
      heldBy: "http/edge.test.ts#an unknown field of a body is refused, with the nearest known name"
    },
    {
      rule: "An unknown query parameter is 400 with the nearest known name.",
      decidedBy: "src/api/http/KnownQuery.ts#refuseQuery",
      heldBy: "http/edge.test.ts#an unknown query parameter is refused on every endpoint, with the nearest known name"
    },
    {
      rule: "A wrong Content-Type is 415.",
      decidedBy: "src/api/http/admittedBody.ts#admitBody",
      heldBy: "http/edge.test.ts#a JSON body has the media type application/json, in UTF-8, not compressed"
    },
    {
      rule: "A JSON body of more than 128 KiB is 413.",
      decidedBy: "schemas/Limits.ts#jsonBodyMaxBytes",
      heldBy: "http/edge.test.ts#a JSON body may have exactly 128 KiB, declared or chunked"
    },
    {
      rule: "The limits have the numbers of the contract.",
      decidedBy: "schemas/Limits.ts#workspacesPerAccount",
      heldBy: "schemas/limits.test.ts#the limits are those of the contract"
    },
    {
      rule: "Malformed JSON is 400.",
      decidedBy: "src/api/http/JsonBody.ts#readJsonText",
      heldBy: "http/edge.test.ts#malformed JSON, bad UTF-8, too deep a nesting: 400 with one issue at the root"
    },
    {
      rule: "A body is optional for start, stop, wait and cancel: an empty one means `{}`.",
      decidedBy: "schemas/Access.ts#OptionalBody",
      heldBy: "http/edge.test.ts#a missing body counts as {} where the body is optional, otherwise it is refused"
    },
    {
      rule: "Every answer has `X-Request-Id`; a usable one from the request (1 to 128 printable ASCII characters) is kept.",
      decidedBy: "src/api/http/RequestId.ts#identify",
      heldBy: "http/edge.test.ts#a valid X-Request-Id is kept, any other is replaced"
    },
    {
      rule: 'Every error answer has `Link: </docs#CODE>; rel="help"`: the place in the reference that has the code\'s cause and the next step.',
      decidedBy: "src/api/http/ErrorResponse.ts#headersOf",
      heldBy: "reference/page.test.ts#is where every error answer leads, also where no route is asked"
    },
    {
      rule: "The reference at `/docs` shows every operation and every answer, needs no key and no script, and has the console's own policy.",
      decidedBy: "src/api/http/ReferencePages.ts#ReferencePages",
      heldBy:
        "reference/page.test.ts#is a page of the service under the console's own policy, and needs no script and no other host"
    },
    {
      rule: "The order of checks is route, 401, 403, 415, 413, 400, 404, 402, state.",
      decidedBy: "src/api/http/EndpointGuard.ts#guard",
      heldBy: "http/edge.test.ts#checks run in the contract's order: each request also fails all later checks"
    },
    {
      rule: "A runtime that does not support an operation is 501.",
      decidedBy: "schemas/Errors.ts#UnsupportedByRuntime",
      heldBy:
        "http/sandboxes.test.ts#a create for another runtime is refused immediately and stores nothing; one for the server's own is accepted"
    },
    {
      rule: "A feature that is switched off is 501, after shape and ownership.",
      decidedBy: "src/access/serviceAccess/ServiceAccessesLive.ts#make.findSandbox",
      heldBy: "http/ways.test.ts#answers 501 after shape and ownership"
    },
    {
      rule: "A database that does not answer is 503 `SERVICE_UNAVAILABLE` with `Retry-After`, on every endpoint.",
      decidedBy: "src/api/http/faultError.ts#databaseAway",
      heldBy:
        "http/outage.test.ts#detects a frozen server: clients get 503 in time, health answers immediately, one line is logged"
    },
    {
      rule: "An Idempotency-Key is 1 to 255 printable ASCII characters; a missing (where required) or malformed one is 400.",
      decidedBy: "schemas/IdempotencyKey.ts#IdempotencyKey",
      heldBy: "http/workspaces.test.ts#an Idempotency-Key is required, 1 to 255 printable ASCII characters"
    },
    {
      rule: "A missing Idempotency-Key is answered with an example, and with the mistakes of the body.",
      decidedBy: "src/api/http/wholeRefusal.ts#refuseWhole",
      heldBy:
        "http/refusals.test.ts#without its Idempotency-Key is answered with an example, and with the mistakes of its body"
    },
    {
      rule: "A value that is none of a few words is answered with all of them and the nearest.",
      decidedBy: "src/api/http/ErrorResponse.ts#messageOf",
      heldBy: "http/refusals.test.ts#names the nearest of a few words, in a body and in a query"
    },
    {
      rule: "A JSON answer ends with a line end.",
      decidedBy: "src/api/http/lineEnd.ts#withLineEnd",
      heldBy: "http/refusals.test.ts#is a line, also of an error"
    },
    {
      rule: "A fingerprint compares requests: method, path and canonical JSON body.",
      decidedBy: "src/account/idempotency/Fingerprint.ts#fingerprint",
      heldBy: "idempotency/Fingerprint.test.ts#ignores blanks and the order of keys, and nothing else"
    },
    {
      rule: "An Idempotency-Key is kept as long as the thing that it made, and at least 24 h.",
      decidedBy: "src/observe/retention/Pruner.ts#parts.deletedCutoff",
      heldBy: "retention/Pruner.test.ts#keeps every Idempotency-Key for a day"
    },
    {
      rule: "A replay is answered before credit, limits and state are checked.",
      decidedBy: "src/operation/startOperation.ts#startOperation.start",
      heldBy: "http/credit.test.ts#changes neither the answer of a replay nor a conflict"
    },
    {
      rule: "A query parameter given twice is 400.",
      decidedBy: "src/api/http/KnownQuery.ts#refuseQuery",
      heldBy: "http/edge.test.ts#a query parameter given twice is refused"
    },
    {
      rule: "Query parameters have the bounds and defaults of the contract.",
      decidedBy: "schemas/Query.ts#integerWithDefault",
      heldBy: "http/openapi.test.ts#gives parameters their types, bounds and defaults"
    },
    {
      rule: "An id in no valid form is 404.",
      decidedBy: "schemas/Identifiers.ts#prefixed",
      heldBy: "http/edge.test.ts#malformed ids are 404 in every spelling"
    },
    {
      rule: "HEAD is GET without the body.",
      decidedBy: "src/api/http/KnownRoutes.ts#methodsOf",
      heldBy: "http/edge.test.ts#HEAD is GET without the body, key check included"
    },
    {
      rule: "A paged list takes `limit` 1 to 1000 (default 100) and an opaque `cursor`, and always has `nextCursor`.",
      decidedBy: "schemas/Query.ts#page",
      heldBy: "http/pages.test.ts#of every list add up to it, for every page size"
    },
    {
      rule: "A cursor is good only in the list that made it.",
      decidedBy: "src/lists/Paging.ts#openCursor",
      heldBy:
        "http/cursors.test.ts#is refused everywhere except in the list or stream that gave it, and after any change"
    },
    {
      rule: "A timestamp in a query has a valid date, a time and a zone; seconds and fractions are optional.",
      decidedBy: "schemas/Query.ts#parseInstant",
      heldBy: "schemas/Query.test.ts#has a date, a time and a zone; seconds and fractions may be absent"
    }
  ]
}
