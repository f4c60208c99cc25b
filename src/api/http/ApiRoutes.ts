/** All routes of the API, the console and the operator, with their middleware. Needs the services that the handlers call. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../schemas/Api.ts"
import { ConsoleApi } from "../../../schemas/console/ConsoleApi.ts"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import { pathMaxCharacters } from "../../../schemas/Limits.ts"
import { AccountHandlers } from "./AccountHandlers.ts"
import { AnalyticsHandlers } from "./AnalyticsHandlers.ts"
import { AuditHandlers } from "./AuditHandlers.ts"
import { BrowserEntrance } from "./BrowserEntrance.ts"
import { ConsoleDownloadHandlers } from "./ConsoleDownloadHandlers.ts"
import { ConsoleKeysHandlers } from "./ConsoleKeysHandlers.ts"
import { ConsolePages } from "./ConsolePages.ts"
import { ConsoleSessionHandlers } from "./ConsoleSessionHandlers.ts"
import { CooperativeHandlers } from "./CooperativeHandlers.ts"
import { DoctorHandlers } from "./DoctorHandlers.ts"
import { Edge } from "./Edge.ts"
import { EndpointGuard } from "./EndpointGuard.ts"
import { EventsHandlers } from "./EventsHandlers.ts"
import { FilesHandlers } from "./FilesHandlers.ts"
import { ImagesHandlers } from "./ImagesHandlers.ts"
import { LogsHandlers } from "./LogsHandlers.ts"
import { McpRoute } from "./McpRoute.ts"
import { OperatedAccountsHandlers } from "./OperatedAccountsHandlers.ts"
import { OperatedAuditHandlers } from "./OperatedAuditHandlers.ts"
import { OperatedBackupsHandlers } from "./OperatedBackupsHandlers.ts"
import { OperatedInstallationHandlers } from "./OperatedInstallationHandlers.ts"
import { OperatedKeysHandlers } from "./OperatedKeysHandlers.ts"
import { OperatedSessionsHandlers } from "./OperatedSessionsHandlers.ts"
import { OperatedUsageHandlers } from "./OperatedUsageHandlers.ts"
import { OperationsHandlers } from "./OperationsHandlers.ts"
import { OperatorGuard } from "./OperatorGuard.ts"
import { OperatorHandlers } from "./OperatorHandlers.ts"
import { OperatorRoutes } from "./OperatorRoutes.ts"
import { PreviewsHandlers } from "./PreviewsHandlers.ts"
import { ProcessesHandlers } from "./ProcessesHandlers.ts"
import { ReferencePages } from "./ReferencePages.ts"
import { SandboxesHandlers } from "./SandboxesHandlers.ts"
import { ServiceAccessHandlers } from "./ServiceAccessHandlers.ts"
import { OperatorCookie, SessionCookie } from "./SessionCookie.ts"
import { SnapshotsHandlers } from "./SnapshotsHandlers.ts"
import { SystemHandlers } from "./SystemHandlers.ts"
import { TerminalHandlers } from "./TerminalHandlers.ts"
import { UsageHandlers } from "./UsageHandlers.ts"
import { WorkspacesHandlers } from "./WorkspacesHandlers.ts"

const handlers = Layer.mergeAll(
  SystemHandlers.layer,
  AccountHandlers.layer,
  WorkspacesHandlers.layer,
  SandboxesHandlers.layer,
  SnapshotsHandlers.layer,
  ImagesHandlers.layer,
  OperationsHandlers.layer,
  ProcessesHandlers.layer,
  TerminalHandlers.layer,
  FilesHandlers.layer,
  LogsHandlers.layer,
  AnalyticsHandlers.layer,
  PreviewsHandlers.layer,
  ServiceAccessHandlers.layer,
  CooperativeHandlers.layer,
  UsageHandlers.layer,
  EventsHandlers.layer,
  AuditHandlers.layer
)

/** A path must match the OpenAPI exactly, including case and a final slash. */
export const routerConfig = {
  caseSensitive: true,
  ignoreTrailingSlash: false,
  ignoreDuplicateSlashes: false,
  maxParamLength: pathMaxCharacters
}

const consoleHandlers = Layer.mergeAll(
  ConsoleSessionHandlers.layer,
  ConsoleKeysHandlers.layer,
  ConsoleDownloadHandlers.layer
)

const operatorHandlers = Layer.mergeAll(
  OperatorHandlers.layer,
  OperatedAccountsHandlers.layer,
  OperatedKeysHandlers.layer,
  OperatedInstallationHandlers.layer,
  OperatedUsageHandlers.layer,
  OperatedAuditHandlers.layer,
  OperatedBackupsHandlers.layer,
  OperatedSessionsHandlers.layer,
  DoctorHandlers.layer
)

export const ApiRoutes = {
  layer: Layer.mergeAll(
    HttpApiBuilder.layer(Api).pipe(Layer.provide(handlers)),
    HttpApiBuilder.layer(ConsoleApi).pipe(Layer.provide(consoleHandlers)),
    HttpApiBuilder.layer(OperatorApi).pipe(Layer.provide(operatorHandlers)),
    ConsolePages.layer,
    ReferencePages.layer,
    BrowserEntrance.layer,
    OperatorRoutes.layer,
    McpRoute.layer,
    Edge.layer
  ).pipe(
    Layer.provide(Layer.merge(EndpointGuard.layer, OperatorGuard.layer)),
    Layer.provide(Layer.merge(SessionCookie.layer, OperatorCookie.layer))
  )
}
