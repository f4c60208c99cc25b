import type { Section } from "../Rule.ts"

export const versions: Section = {
  title: "Description and versions",
  rules: [
    {
      rule: "The description is served at `GET /openapi.json` without a key, as version 2.0.0.",
      decidedBy: "src/api/http/SystemHandlers.ts#SystemHandlers",
      heldBy: "http/openapi.test.ts#is version 2.0.0, cacheable JSON, the same for every caller"
    },
    {
      rule: "Every exchange of every test agrees with the description.",
      decidedBy: "schemas/Api.ts#Api",
      heldBy:
        "http/openapi.test.ts#is the description that every exchange of every test is compared with (test/support/described/)"
    },
    {
      rule: "Responses may have more fields in later versions, and requests may not.",
      decidedBy: "schemas/OpenApiDocument.ts#described",
      heldBy:
        "http/openapi.test.ts#names schemas as the contract does, once each; answers are open to fields of later versions, requests are closed"
    }
  ]
}
