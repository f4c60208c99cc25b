/**
 * The command line: for the operator, on the service's own database, with or without a running service; and `tunnel`, for customers.
 *
 *     npm run --silent atoll -- keys create --account acme --scopes sandbox:read,sandbox:execute
 *
 * Exit codes: 0 done, 1 refused or failed (one sentence on stderr gives the reason), 2 wrong usage.
 */
import { runMain } from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Layer, Logger, References } from "effect"
import { CliError, Command } from "effect/cli"
import { Accounts } from "../account/Accounts.ts"
import { ApiKeys } from "../account/ApiKeys.ts"
import { Settings } from "../Config.ts"
import { Invitations } from "../console/server/Invitations.ts"
import { OperatorSessions } from "../console/server/OperatorSessions.ts"
import { WrongUsage } from "../console/server/operating/refusals.ts"
import { SignInLinks } from "../console/server/SignInLinks.ts"
import { isOfCluster } from "../engine/clusterLines.ts"
import { Hosts } from "../fleet/Hosts.ts"
import { Database } from "../store/Database.ts"
import { Migrations } from "../store/Migrations.ts"
import { Ledger } from "../wallet/Ledger.ts"
import { accounts } from "./accounts.ts"
import { exitCodes, Json } from "./answer.ts"
import { backup, restore } from "./backup.ts"
import { credit } from "./credit.ts"
import { doctor } from "./doctor.ts"
import { down } from "./down.ts"
import { histories } from "./histories.ts"
import { hosts } from "./hosts.ts"
import { invitations } from "./invitations.ts"
import { keys } from "./keys.ts"
import { operator } from "./operator.ts"
import { rates } from "./rates.ts"
import { settingsAsServed } from "./servedAt.ts"
import { shownText } from "./shownText.ts"
import { tunnel } from "./tunnel.ts"
import { usage } from "./usage.ts"

const version = "0.1.0"

/** Built only when a command runs: help needs no database. */
const services = Layer.mergeAll(
  Accounts.layer,
  ApiKeys.layer,
  Ledger.layer,
  Invitations.layer,
  SignInLinks.layer,
  OperatorSessions.layer,
  Hosts.layer
).pipe(
  Layer.provideMerge(Migrations.layer.pipe(Layer.provideMerge(Database.layer))),
  Layer.provideMerge(settingsAsServed),
  Layer.orDie
)

/** The database as it is: an older version's, maybe. */
const unmigrated = Database.layer.pipe(Layer.provideMerge(settingsAsServed), Layer.orDie)

const atoll = Command.make("atoll").pipe(
  Command.withDescription(
    "Manages this Atoll: accounts, invitations, API keys, credit, rates and usage, histories, the hosts of a fleet, the operator's access to the console, backups, shutdown, tunnels into Sandboxes, and checks of this host"
  ),
  Command.withSubcommands([
    accounts.pipe(Command.provide(services)),
    keys.pipe(Command.provide(services)),
    credit.pipe(Command.provide(services)),
    rates.pipe(Command.provide(services)),
    usage.pipe(Command.provide(services)),
    histories.pipe(Command.provide(unmigrated)),
    invitations.pipe(Command.provide(services)),
    hosts.pipe(Command.provide(services)),
    operator.pipe(Command.provide(services)),
    backup.pipe(Command.provide(Settings.layer)),
    restore.pipe(Command.provide(Settings.layer)),
    down.pipe(Command.provide(Settings.layer)),
    doctor.pipe(Command.provide(Settings.layer)),
    tunnel
  ]),
  Command.withGlobalFlags([Json])
)

/** Help is the result if it was asked for; help beside an error is not. */
const isHelpAsked = process.argv.some((word) => /^(?:-[hv]|--(?:help|version|wizard|completions)(?:=.*)?)$/.test(word))
const ownWords: Console.Console = isHelpAsked
  ? console
  : Object.assign(Object.create(console), { log: (...words: ReadonlyArray<unknown>) => console.error(...words) })

const onStderr = Logger.withConsoleError(Logger.formatLogFmt)
/** Only results go to stdout. What Effect's cluster warns of, such as that no process is healthy, is as it should be while a command stops all of them. */
const quiet = Layer.mergeAll(
  Logger.layer([
    Logger.make((line) => (line.logLevel === "Warn" && isOfCluster(line) ? undefined : onStderr.log(line)))
  ]),
  Layer.succeed(References.MinimumLogLevel, "Warn" as const),
  Layer.succeed(Console.Console, ownWords)
)

const sentenceOf = (cause: Cause.Cause<unknown>): string => {
  const fault = Cause.squash(cause)
  return fault instanceof Error && fault.message !== "" ? fault.message : Cause.pretty(cause)
}

export const start = (): void =>
  atoll.pipe(
    Command.run({ version }),
    Effect.provide(Layer.merge(NodeServices.layer, quiet)),
    Effect.catchCause((cause) =>
      Effect.sync(() => {
        const fault = Cause.squash(cause)
        // The parser's own errors were shown with the help.
        const isShown = CliError.isCliError(fault)
        if (!isShown) process.stderr.write(`atoll: ${shownText(sentenceOf(cause))}\n`)
        process.exitCode = isShown || fault instanceof WrongUsage ? exitCodes.wrongUsage : exitCodes.refused
      })
    ),
    runMain({ disableErrorReporting: true })
  )
