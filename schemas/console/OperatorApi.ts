/** The requests of the operator's page of the console: no part of the contract, and for no account. */
import { HttpApi } from "effect/http-api"
import { DoctorGroup } from "./Doctor.ts"
import { HostsGroup } from "./Hosts.ts"
import { OperatedAuditGroup } from "./OperatedAudit.ts"
import { OperatedBackupsGroup } from "./OperatedBackups.ts"
import { OperatedInstallationGroup } from "./OperatedInstallation.ts"
import { OperatedKeysGroup } from "./OperatedKeys.ts"
import { OperatedSessionsGroup } from "./OperatedSessions.ts"
import { OperatedUsageGroup } from "./OperatedUsage.ts"
import { OperatedAccountsGroup } from "./Operating.ts"
import { OperatorEntranceGroup, OperatorSessionGroup } from "./Operator.ts"
import { WorkersGroup } from "./Workers.ts"

export class OperatorApi extends HttpApi.make("operator")
  .add(OperatorEntranceGroup)
  .add(OperatorSessionGroup)
  .add(HostsGroup)
  .add(WorkersGroup)
  .add(DoctorGroup)
  .add(OperatedAccountsGroup)
  .add(OperatedKeysGroup)
  .add(OperatedInstallationGroup)
  .add(OperatedUsageGroup)
  .add(OperatedAuditGroup)
  .add(OperatedBackupsGroup)
  .add(OperatedSessionsGroup)
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotate(HttpApi.PayloadParseOptions, { errors: "all", onExcessProperty: "error" })
  .prefix("/console/api/operator") {}
