/** The operator's page: the backup folder, and the start of a backup. */
import { Context, Effect } from "effect"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import { noteInstallation } from "../../account/OperatorAudit.ts"
import { Settings } from "../../Config.ts"
import { backupPage, startBackup } from "../../ops/backup/folder/BackupFolder.ts"
import { leanGroup } from "./LeanContext.ts"
import { acting, operatorServices, unkept } from "./OperatorActs.ts"

const started = Effect.gen(function* () {
  const name = yield* startBackup()
  yield* noteInstallation("startBackup", name, 201)
  return { said: `${name} is being written.`, link: null, secret: null, document: { name } }
})

const group = leanGroup(
  OperatorApi,
  "operatedBackups",
  Effect.fnUntraced(function* (handlers) {
    const services = yield* operatorServices
    return handlers
      .handle("listBackups", () =>
        Effect.map(Effect.provideService(backupPage, Settings, Context.get(services, Settings)), unkept)
      )
      .handle("startBackup", ({ request }) => acting(request, services, started), { uninterruptible: true })
  })
)

export const OperatedBackupsHandlers = { layer: group }
