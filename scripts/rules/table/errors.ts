import type { Section } from "../Rule.ts"

export const errors: Section = {
  title: "Errors",
  rules: [
    {
      rule: "Every error, also of the router, has the body `{code, message, requestId, details}`.",
      decidedBy: "schemas/Errors.ts#ErrorBody",
      heldBy: "http/openapi.test.ts#has all statuses of every endpoint of the contract, each error with the Error body"
    },
    {
      rule: "Every code has one status.",
      decidedBy: "schemas/Errors.ts#errorStatus",
      heldBy: "http/openapi.test.ts#lists each code with its status and its details"
    },
    {
      rule: "An unknown route is 404.",
      decidedBy: "src/api/http/Edge.ts#answerUnmatched",
      heldBy: "http/edge.test.ts#an unknown path is 404 for everyone, with or without a key"
    },
    {
      rule: "A wrong method is 405 with `Allow`.",
      decidedBy: "src/api/http/KnownRoutes.ts#methodsOf",
      heldBy: "http/edge.test.ts#a known path without that method is 405 with Allow, before the key is looked at"
    },
    {
      rule: "400 `INVALID_REQUEST` lists every issue with its path.",
      decidedBy: "src/api/http/ErrorResponse.ts#fromSchemaError",
      heldBy: "http/edge.test.ts#one answer lists all issues, each by its path, none with the value"
    },
    {
      rule: "401 has `WWW-Authenticate: Bearer`.",
      decidedBy: "src/api/http/ErrorResponse.ts#headersOf",
      heldBy: "http/edge.test.ts#401 says Bearer; every form of a missing or wrong key gets the same body"
    },
    {
      rule: "403 `SCOPE_REQUIRED` names the scope.",
      decidedBy: "schemas/Errors.ts#ScopeRequired",
      heldBy: "http/openapiExamples.test.ts#403 for a missing scope names the scope, in the sentence too"
    },
    {
      rule: "500 `INTERNAL` has no stack trace and no secret.",
      decidedBy: "src/api/http/faultError.ts#faultError",
      heldBy: "http/faults.test.ts#a defect is 500 INTERNAL without its cause, which the log has under the request id"
    },
    {
      rule: 'An error of a change says `outcome: "unknown"` when the change may have been made.',
      decidedBy: "src/api/http/BegunRequest.ts#mayHaveChanged",
      heldBy: "http/lostAnswers.test.ts#leaves an unknown outcome once the change is committed"
    }
  ]
}
