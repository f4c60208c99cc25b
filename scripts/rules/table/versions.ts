import type { Section } from "../Rule.ts"

export const versions: Section = {
  title: "Description and versions",
  rules: [
    {
      rule: "The description is served at `GET /openapi.json` without a key, as version 2.0.0.",
      decidedBy: "src/api/http/SystemHandlers.ts#SystemHandlers",
      heldBy: "http/openapi.test.ts#it is version 2.0.0, cacheable JSON, the same for everyone"
    },
    {
      rule: "Every exchange of every test agrees with the description.",
      decidedBy: "schemas/Api.ts#Api",
      heldBy: "http/openapi.test.ts#it is what every exchange of every test is held to (test/support/described/)"
    },
    {
      rule: "Responses may have more fields in later versions, and requests may not.",
      decidedBy: "schemas/OpenApiDocument.ts#described",
      heldBy:
        "http/openapi.test.ts#schemas bear the contract's names, and no others for the same; answers stay open to fields of later versions, requests are closed"
    }
  ]
}
