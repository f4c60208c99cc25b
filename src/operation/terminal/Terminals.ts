/**
 * Terminals: a login shell in a Sandbox with a connected user. The connection's end ends the shell's process tree.
 *
 * A terminal keeps its Sandbox awake, and counts as a connection to it.
 *
 * @source schemas/Terminal.ts
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { SandboxContext } from "../../../schemas/contexts/Sandbox.ts"
import { type CreditExhausted, type NotFound, RateLimited, SandboxUnavailable } from "../../../schemas/Errors.ts"
import { terminalsPerSandbox } from "../../../schemas/Limits.ts"
import { type Connection, LiveConnections } from "../../access/gateway/LiveConnections.ts"
import { requireCredit } from "../../account/Credit.ts"
import type { Settings } from "../../Config.ts"
import type { ActorHost } from "../../engine/ActorHost.ts"
import type { ProcessChannel, TerminalSize } from "../../runtime/Guest.ts"
import { Runtime } from "../../runtime/Runtime.ts"
import { unanswered } from "../../sandbox/GuestChange.ts"
import { runningSandbox, unavailableUnlessRunning } from "../../sandbox/RunningSandbox.ts"
import { SandboxEnvs } from "../../sandbox/SandboxEnvs.ts"
import { SandboxUse } from "../../sandbox/SandboxUse.ts"
import { inhabitedStates } from "../../sandbox/sandboxStates.ts"
import type { Actors } from "../../store/Actors.ts"
import { ClusterSemaphore } from "../../store/ClusterSemaphore.ts"
import type { Journal } from "../../store/Journal.ts"
import { loginShell } from "../process/loginShell.ts"

const askAgainSeconds = 1

/** The type that browser terminals emulate. */
const term = "xterm-256color"

/**
 * Bash runs this before its first prompt, after the user's own files. Where these set no prompt, it shows the directory, in colours, and `ls` has
 * colours. A variable of the Sandbox of that name wins.
 *
 * @source bash(1), PROMPT_COMMAND; the prompt that /etc/bash.bashrc sets on Debian names debian_chroot
 */
const promptCommand = [
  "case $PS1 in '' | '\\s-\\v\\$ ' | *debian_chroot*)",
  "PS1='\\[\\e[1;36m\\]\\w\\[\\e[0m\\] \\$ ' ;; esac;",
  "alias ls > /dev/null 2>&1 || alias ls='ls --color=auto';",
  "unset PROMPT_COMMAND"
].join(" ")

export interface Asked {
  readonly accountId: string
  readonly sandboxId: string
  /** See `Credential`. */
  readonly exhaustedAt: number | null
}

export interface Entered {
  /** Opens a shell until the scope ends. */
  readonly shell: (size: TerminalSize) => Effect.Effect<ProcessChannel, SandboxUnavailable | RateLimited, Scope.Scope>
}

export type Refusal = NotFound | CreditExhausted | SandboxUnavailable | RateLimited

const tooMany = (
  message = "This Sandbox or its account has reached its limit of open terminals and connections. Close one, then try again."
) => new RateLimited({ message, details: { retryAfterSeconds: askAgainSeconds } })

export class Terminals extends Context.Service<
  Terminals,
  {
    /**
     * Takes a permit for a terminal in a running Sandbox until the scope ends; wakes a sleeping Sandbox.
     *
     * @param cut Called at most once when the terminal must end immediately.
     */
    readonly enter: (asked: Asked, cut: Connection["cut"]) => Effect.Effect<Entered, Refusal, Scope.Scope>
  }
>()("atoll/operation/terminal/Terminals") {
  static readonly layer = Layer.effect(
    Terminals,
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const connections = yield* LiveConnections
      const semaphore = yield* ClusterSemaphore
      const uses = yield* SandboxUse
      const envs = yield* SandboxEnvs
      const services = yield* Effect.context<ActorHost | Actors | Journal | Settings>()

      /** A permit for a terminal of a boot, until the scope ends. */
      const permit = Effect.fnUntraced(function* (
        { accountId, sandboxId }: Asked,
        generation: number,
        cut: Connection["cut"]
      ) {
        const bounds = [{ subject: `terminals ${sandboxId}`, most: terminalsPerSandbox }]
        yield* semaphore.gather(bounds, 1) ?? Effect.void
        const taken = yield* Effect.acquireRelease(
          Effect.sync(() => semaphore.take(bounds)),
          (release) => Effect.sync(() => release?.())
        )
        if (taken === null) return yield* tooMany()
        yield* connections
          .enter({
            // Terminals are the only connections under the Sandbox's own id.
            actorId: sandboxId,
            accountId,
            sandboxId,
            cut,
            mayGoOn: ({ status, context }) =>
              inhabitedStates.includes(status) && (context as SandboxContext).generation === generation
          })
          .pipe(Effect.catchTag("TooManyConnections", () => Effect.fail(tooMany())))
      })

      const shell = Effect.fn("Terminals.shell")(function* (sandboxId: string, generation: number, size: TerminalSize) {
        const { processes } = yield* Effect.mapError(runtime.guest(sandboxId, generation), unanswered)
        return yield* processes
          .open({
            argv: loginShell,
            cwd: "/workspace",
            env: { PROMPT_COMMAND: promptCommand, ...(yield* envs.present(sandboxId)), TERM: term },
            terminal: size,
            purpose: "terminal"
          })
          .pipe(
            Effect.catchTags({
              GuestUnavailable: () => Effect.fail(unanswered()),
              SpawnRefused: ({ code, message }) =>
                Effect.fail(
                  code === "TOO_MANY_PROCESSES"
                    ? tooMany(message)
                    : new SandboxUnavailable({ message, details: { status: "running" } })
                )
            })
          )
      })

      return Terminals.of({
        enter: Effect.fn("Terminals.enter")(function* (asked, cut) {
          const { accountId, sandboxId, exhaustedAt } = asked
          yield* uses.scoped(sandboxId)
          const { generation } = yield* runningSandbox(accountId, sandboxId, requireCredit(exhaustedAt)).pipe(
            Effect.provideContext(services),
            unavailableUnlessRunning
          )
          yield* permit(asked, generation, cut)
          return { shell: (size) => shell(sandboxId, generation, size) }
        })
      })
    })
  )
}
