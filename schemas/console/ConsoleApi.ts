/**
 * The requests of the console's page, beside the API itself: not part of the contract, and only for a page of the same
 * origin.
 */
import { HttpApi } from "effect/http-api"
import { DownloadsGroup } from "./Downloads.ts"
import { KeysGroup } from "./Keys.ts"
import { EntranceGroup, SessionGroup } from "./Session.ts"

export class ConsoleApi extends HttpApi.make("console")
  .add(EntranceGroup)
  .add(SessionGroup)
  .add(KeysGroup)
  .add(DownloadsGroup)
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotate(HttpApi.PayloadParseOptions, { errors: "all", onExcessProperty: "error" })
  .prefix("/console/api") {}
