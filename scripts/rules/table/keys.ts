import type { Section } from "../Rule.ts"

export const keys: Section = {
  title: "Authentication and keys",
  rules: [
    {
      rule: "Every endpoint except the two descriptions needs an API key and its scope.",
      decidedBy: "src/api/http/EndpointGuard.ts#guard",
      heldBy:
        "http/openapi.test.ts#gives every operation a distinct id, a summary and a security scheme, except for the descriptions of the API and of its machines"
    },
    {
      rule: "A missing, invalid or revoked key is 401.",
      decidedBy: "src/account/Authentication.ts#Authentication.layer.authenticate",
      heldBy: "http/edge.test.ts#401 says Bearer; every form of a missing or wrong key gets the same body"
    },
    {
      rule: "A key without the endpoint's scope is 403.",
      decidedBy: "schemas/Access.ts#RequiredScope",
      heldBy:
        "account/keys.test.ts#every endpoint but one needs a key, and a key with exactly the endpoint's scope gets past 403"
    },
    {
      rule: "A suspended account gets 403 `ACCOUNT_SUSPENDED` on every endpoint that needs a key.",
      decidedBy: "src/api/http/EndpointGuard.ts#suspended",
      heldBy:
        "account/suspension.test.ts#gets 403 from every endpoint that needs a key, before any other error but 401, and regains everything once resumed"
    },
    {
      rule: "`GET /me` describes account, key and limits.",
      decidedBy: "src/api/http/AccountHandlers.ts#AccountHandlers",
      heldBy: "account/keys.test.ts#GET /me describes the account, the key and its last use"
    },
    {
      rule: "`DELETE /auth` revokes the request's key before it answers.",
      decidedBy: "src/account/KeyLease.ts#awaitLeases",
      heldBy: "account/keys.test.ts#DELETE /auth revokes the key of the request, for every process, before it answers"
    },
    {
      rule: "A key has the scopes that were named at its creation, and no others later.",
      decidedBy: "src/account/ApiKeys.ts#ApiKeys.layer.create",
      heldBy:
        "account/keys.test.ts#every endpoint but one needs a key, and a key with exactly the endpoint's scope gets past 403"
    },
    {
      rule: "Revoking a key keeps workspaces and Sandboxes.",
      decidedBy: "src/account/ApiKeys.ts#ApiKeys.layer.revoke",
      heldBy: "account/keys.test.ts#revoking a key leaves workspaces and other keys; a revoked key stays listed"
    },
    {
      rule: "A secret is `atoll_live_` and 43 base62 characters; only its SHA-256 is stored.",
      decidedBy: "src/account/ApiKeySecret.ts#newSecret",
      heldBy: "account/keys.test.ts#a secret is 43 base62 characters after its prefix; only its SHA-256 is stored"
    },
    {
      rule: "A key is displayed with name, hint of 4 characters, scopes, creation, last use and revocation.",
      decidedBy: "src/api/http/ConsoleKeysHandlers.ts#shown",
      heldBy:
        "console/server/keys.test.ts#are shown once, and listed with their hint, scopes, end, last use and from where"
    },
    {
      rule: "A key that expires is refused from that instant.",
      decidedBy: "src/account/Authentication.ts#Authentication.layer.unexpired",
      heldBy:
        "account/keys.test.ts#a key is refused from its expiry on, with the reason; a lease does not lengthen its life"
    },
    {
      rule: "Ids are a prefix and 26 characters of Crockford base32, in the order of their creation.",
      decidedBy: "src/platform/identifier/newId.ts#newId",
      heldBy:
        "identifier/newId.test.ts#are a prefix and 26 characters of Crockford base32, each new one greater than the last"
    },
    {
      rule: "An operation's id is `op_` and 32 lowercase hexadecimal characters.",
      decidedBy: "src/platform/identifier/newId.ts#newOperationId",
      heldBy:
        "identifier/newId.test.ts#of operations are op_ and a UUIDv7 in hexadecimal, each new one greater than the last"
    }
  ]
}
