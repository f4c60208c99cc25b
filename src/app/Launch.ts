/**
 * Runs the service until SIGTERM or SIGINT, and stops it in order, in bounded time, with a sentence and an exit code. SIGHUP stops it only
 * if it was started on a terminal that has been closed.
 *
 *     0    stopped by a signal
 *     69   a dependency is unavailable: the database, the port, the data folder, the runtime
 *     70   a defect; its trace is in the log
 *     78   an invalid setting
 *
 * @source sysexits.h
 */
import { closeSync, constants, openSync } from "node:fs"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect, Exit, Layer, Logger, References } from "effect"
import { HttpServer } from "effect/http"
import { Settings } from "../Config.ts"
import { readableLog } from "./ReadableLog.ts"
import { traces } from "./Traces.ts"

/** Longer than the listener's drain, if that is not set, and the database's last checkpoint together. */
const stopWithinMs = 30_000
/** Time for the rest of the stop after a drain that is set, without an embedded database. */
const stopAfterDrainMs = 15_000

const repeatedSignalMs = 1_000

const exitCodes = { stopped: 0, unavailable: 69, defect: 70, settings: 78 }

/** Faults that a restart cannot mend: invalid settings. */
const settingFaults: ReadonlySet<string> = new Set(["SettingsUnusable", "SecretUnusable"])

const readable = Logger.withConsoleLog(readableLog)
type Log = typeof readable

const logOf = (format: "auto" | "readable" | "json"): Log =>
  format === "readable" || (format === "auto" && process.stdout.isTTY) ? readable : Logger.consoleJson

const levels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

const logLevel = Layer.effect(
  References.MinimumLogLevel,
  Effect.map(Settings, (settings) => levels[settings.logLevel])
)

/** An expected fault: it has a tag, and a message for the operator. */
const foreseen = (fault: unknown): fault is { readonly _tag: string; readonly message: string } =>
  fault instanceof Error && "_tag" in fault && fault.message !== ""

const ending = (exit: Exit.Exit<unknown, unknown>): { readonly code: number; readonly sentence: string | null } => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return { code: exitCodes.stopped, sentence: null }
  const fault = Cause.squash(exit.cause)
  if (Cause.hasDies(exit.cause) || !foreseen(fault)) {
    return { code: exitCodes.defect, sentence: `a defect ended Atoll:\n${Cause.pretty(exit.cause)}` }
  }
  return {
    code: settingFaults.has(fault._tag) ? exitCodes.settings : exitCodes.unavailable,
    sentence: fault.message
  }
}

/** Whether this process has a controlling terminal. */
const hasTerminal = (): boolean => {
  try {
    closeSync(openSync("/dev/tty", constants.O_RDONLY | constants.O_NOCTTY))
    return true
  } catch {
    return false
  }
}

/**
 * One signal stops the service in order; a later one, or a stop beyond its time limit, ends it immediately. Sandboxes and the database's data are safe
 * either way. npm repeats a Ctrl-C that the terminal has already sent, hence the short grace period.
 */
const boundTheStop = (): { withinMs: number } => {
  const bound = { withinMs: stopWithinMs }
  let stoppingSince: number | null = null
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stoppingSince === null) {
      stoppingSince = Date.now()
      setTimeout(() => {
        process.stderr.write(`atoll: did not stop within ${bound.withinMs / 1000} s and was ended\n`)
        process.exit(exitCodes.defect)
      }, bound.withinMs).unref()
    } else if (Date.now() - stoppingSince > repeatedSignalMs) {
      process.exit(128 + (signal === "SIGINT" ? 2 : 15))
    }
  }
  process.on("SIGINT", onSignal)
  process.on("SIGTERM", onSignal)
  const stop = (): void => void process.kill(process.pid, "SIGTERM")
  const onTerminal = hasTerminal()
  process.on("SIGHUP", () => {
    if (onTerminal) stop()
    else process.stderr.write("atoll: SIGHUP was ignored; SIGTERM stops it\n")
  })
  // The parent, `npm run up`, has ended.
  process.once("disconnect", stop)
  return bound
}

/** Reports the address to the log, and to a parent with an IPC channel (`npm run up`). */
const announce = Effect.flatMap(Settings, ({ role, tlsCertFile }) =>
  HttpServer.addressFormattedWith((formatted) => {
    const isHost = role === "host"
    const address = tlsCertFile === null || isHost ? formatted : formatted.replace(/^http:/, "https:")
    return Effect.andThen(
      Effect.log(isHost ? `The host's health is at ${address}` : `Atoll serves ${address}`),
      Effect.sync(() => process.send?.({ ready: address, role }))
    )
  })
)

/**
 * @param service Everything, except the settings and the log.
 * @param until Its failure ends the process.
 * @param filter Wraps a logger to leave out some lines.
 */
export const launch = <A, E, R extends A = never, E2 = never>(
  service: Layer.Layer<A | HttpServer.HttpServer, E, Settings>,
  until: Effect.Effect<never, E2, R> = Effect.never,
  filter: (logger: Log) => Log = (logger) => logger
): void => {
  const bound = boundTheStop()
  const boundBySettings = Effect.map(Settings, ({ clusterPort, drainMs }) => {
    if (clusterPort !== 0) bound.withinMs = Math.max(stopWithinMs, drainMs + stopAfterDrainMs)
  })
  const surrounded = Layer.effectDiscard(Effect.andThen(boundBySettings, announce)).pipe(
    Layer.provideMerge(service),
    Layer.provide(traces),
    Layer.provide(logLevel),
    Layer.provide(Layer.unwrap(Effect.map(Settings, ({ logFormat }) => Logger.layer([filter(logOf(logFormat))])))),
    Layer.provide(Settings.layer)
  )
  const program = Effect.scoped(
    Effect.flatMap(Layer.build(surrounded), (context) => Effect.provideContext(until, context))
  )
  NodeRuntime.runMain(program, {
    disableErrorReporting: true,
    teardown: (exit, onExit) => {
      const { code, sentence } = ending(exit)
      if (sentence !== null) process.stderr.write(`atoll: ${sentence}\n`)
      onExit(code)
    }
  })
}
