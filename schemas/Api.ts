/** The API that this server serves: a group is here exactly when its handlers are. */
import { HttpApi, OpenApi } from "effect/http-api"
import { AnalyticsGroup } from "./Analytics.ts"
import { AuditGroup } from "./Audit.ts"
import { CooperativeGroup } from "./Cooperative.ts"
import { EventsGroup } from "./Event.ts"
import { FilesGroup } from "./Files.ts"
import { ImagesGroup } from "./Image.ts"
import { LogsGroup } from "./Logs.ts"
import { AccountGroup } from "./Me.ts"
import { OperationsGroup } from "./Operation.ts"
import { PreviewsGroup } from "./Preview.ts"
import { ProcessesGroup } from "./Process.ts"
import { SandboxesGroup } from "./Sandbox.ts"
import { ServiceAccessGroup } from "./ServiceAccess.ts"
import { SnapshotsGroup } from "./Snapshot.ts"
import { SystemGroup } from "./System.ts"
import { TerminalsGroup } from "./Terminal.ts"
import { UsageGroup } from "./Usage.ts"
import { WorkspacesGroup } from "./Workspace.ts"

export class Api extends HttpApi.make("atoll")
  .add(SystemGroup)
  .add(AccountGroup)
  .add(WorkspacesGroup)
  .add(SandboxesGroup)
  .add(SnapshotsGroup)
  .add(ImagesGroup)
  .add(OperationsGroup)
  .add(ProcessesGroup)
  .add(TerminalsGroup)
  .add(FilesGroup)
  .add(LogsGroup)
  .add(AnalyticsGroup)
  .add(PreviewsGroup)
  .add(ServiceAccessGroup)
  .add(CooperativeGroup)
  .add(UsageGroup)
  .add(EventsGroup)
  .add(AuditGroup)
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotate(HttpApi.PayloadParseOptions, { errors: "all", onExcessProperty: "error" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Atoll API",
      version: "2.0.0",
      description: [
        "Isolated compute environments, their commands, files and connections.",
        "",
        "- Only resources of the authenticated account are visible; another's, or none, is 404 with the same body.",
        "- Every error answer has the body Error. Clients ignore unknown response fields; an unknown request field or query parameter is 400, with the nearest known name.",
        "- Checks come in this order: route, 401, 403, media type (415), size (413), shape (400), ownership (404), credit (402), state.",
        "- Without credit, creating, starting and executing, starting operations, opening terminals and writing files are 402 CREDIT_EXHAUSTED; replays, stopping, cancelling, removing and reading are not. Every key of a suspended account gets 403 ACCOUNT_SUSPENDED from every endpoint.",
        "- The console's own page asks with its session's cookie and the header X-Atoll-Csrf instead of a key, and has all scopes; a request with that cookie from elsewhere is 403 CROSS_SITE_REQUEST.",
        "- JSON bodies are UTF-8, at most 128 KiB and 32 levels deep. Text contains no lone surrogates; where it names something, no NUL.",
        "- What is no well-formed HTTP is 400, a URL with headers over 64 KiB 431, a request that does not arrive within 5 minutes 408, and one that the service cuts because it stops 502: on every path, and with the body Error too.",
        "- A query parameter given twice is refused, unless it takes several values. An absent field and null mean the same.",
        "- Models are served by the Model Context Protocol at POST /mcp, with the same keys, scopes and errors; its tools describe themselves (tools/list).",
        "- Every answer carries X-Request-Id; an incoming one (1 to 128 printable ASCII characters) is kept.",
        "- Times are RFC 3339 UTC with milliseconds, sizes are bytes, names are counted in Unicode code points."
      ].join("\n")
    })
  )
  .prefix("/api/v2") {}
