/**
 * Serves the requests of one SSH session channel: a shell, a command or sftp, as a process in the Sandbox.
 *
 * @source RFC 4254 sections 6.2 (pty-req), 6.5 (exec), 6.7 (window-change), 6.9 (signal), 6.10 (exit-status)
 */

import { once } from "node:events"
import { Effect, FiberSet, Stream } from "effect"
import type { ServerChannel, Session } from "ssh2"
import { publicText } from "../../../schemas/PublicText.ts"
import { loginShell } from "../../operation/process/loginShell.ts"
import type { Guest, GuestUnavailable, ProcessChannel, TerminalSize } from "../../runtime/Guest.ts"
import { signalOf, tellSignal } from "./exitSignal.ts"

const unanswered = publicText`The Sandbox does not answer. Connect again.`
const variablesMax = 64
const variableMaxCharacters = 4096
const variableName = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
/** The exit code of `ssh` itself, used when no session is possible. */
const failedExitCode = 255

const byShell = (command: string) => ["/bin/sh", "-c", 'exec "$SHELL" -c "$1"', "sh", command]
/** OpenSSH's own server, in Debian's package openssh-sftp-server. */
const sftpServer = [
  "/bin/sh",
  "-c",
  'for at in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do [ -x "$at/sftp-server" ] && exec "$at/sftp-server"; done; echo "sftp: this Sandbox has no sftp-server (package openssh-sftp-server)" >&2; exit 127'
]

const write = async (channel: ServerChannel, stream: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> => {
  if (channel.destroyed || stream.write(bytes)) return
  await Promise.race([once(stream, "drain"), once(channel, "close")])
}

type Run = (effect: Effect.Effect<void>) => { readonly interruptUnsafe: () => void }

/** Passes the client's input on piece by piece; the channel's window provides backpressure. */
const feed = (channel: ServerChannel, process: ProcessChannel, run: Run): void => {
  channel.on("data", (bytes: Buffer) => {
    channel.pause()
    run(
      Effect.matchCause(process.write(bytes), {
        onSuccess: () => void channel.resume(),
        onFailure: () => void channel.destroy()
      })
    )
  })
  channel.on("end", () => void run(process.end))
}

/** Runs the process to its end and reports the end to the client. Background processes continue, as with sshd. */
const carry = (channel: ServerChannel, process: ProcessChannel, run: Run) =>
  Effect.gen(function* () {
    feed(channel, process, run)
    yield* Stream.runForEach(
      Stream.takeUntil(process.frames, (frame) => frame.type === "exited"),
      (frame) =>
        Effect.promise(async () => {
          if (frame.type === "output") {
            await write(channel, frame.stream === "stdout" ? channel : channel.stderr, frame.bytes)
          } else if (frame.type === "exited") {
            if (frame.signal === null) channel.exit(frame.exitCode ?? failedExitCode)
            else tellSignal(channel, frame.signal)
          }
        })
    )
  })

interface End {
  readonly address: string
  readonly port: number
}

/** The two ends of the connection, as programs see them in SSH_CONNECTION. */
export interface Ends {
  readonly client: End
  readonly server: End
}

/** As sshd sets them; SSH_CLIENT is the older variable. */
const connectionVariables = ({ client, server }: Ends): Readonly<Record<string, string>> => ({
  SSH_CONNECTION: `${client.address} ${client.port} ${server.address} ${server.port}`,
  SSH_CLIENT: `${client.address} ${client.port} ${server.port}`
})

/**
 * Serves one session until the client closes it; then its processes end.
 *
 * @param given The Sandbox's own variables; the client's variables override them.
 */
export const serveSession = Effect.fnUntraced(function* (
  session: Session,
  guest: Effect.Effect<Guest, GuestUnavailable>,
  given: Effect.Effect<Readonly<Record<string, string>>>,
  ends: Ends
) {
  const run: Run = yield* FiberSet.makeRuntime()
  const env: Record<string, string> = {}
  let terminal: TerminalSize | null = null
  let process: ProcessChannel | null = null
  let started = false

  const start = (channel: ServerChannel, argv: ReadonlyArray<string>): void => {
    started = true
    const program = Effect.gen(function* () {
      const { processes } = yield* guest
      process = yield* processes.open({
        argv,
        cwd: "/workspace",
        env: { ...(yield* given), ...env, ...connectionVariables(ends) },
        terminal,
        purpose: "ssh"
      })
      yield* carry(channel, process, run)
    }).pipe(
      Effect.scoped,
      Effect.catchTag(["GuestUnavailable", "SpawnRefused"], (error) =>
        Effect.sync(() => {
          if (channel.destroyed) return
          channel.stderr.write(
            `atoll: ${error._tag === "SpawnRefused" ? error.message : (error.shown ?? unanswered)}\r\n`
          )
          channel.exit(failedExitCode)
        })
      ),
      Effect.ensuring(
        Effect.sync(() => {
          process = null
          channel.end()
        })
      )
    )
    const running = run(program)
    channel.on("error", () => {})
    // Its scope ends the process.
    channel.once("close", () => running.interruptUnsafe())
  }

  const resize = (size: TerminalSize) => {
    terminal = size
    if (process !== null) run(process.resize(size))
  }

  yield* Effect.callback<void>((resume) => {
    session.once("close", () => resume(Effect.void))
    session.on("pty", (accept, _reject, { cols, rows, ...info }) => {
      terminal = { columns: cols, rows }
      const { term } = info as { readonly term?: string }
      if (term !== undefined && /^[\w.+-]{1,64}$/.test(term)) env["TERM"] = term
      accept?.()
    })
    session.on("window-change", (accept, _reject, { cols, rows }) => {
      resize({ columns: cols, rows })
      accept?.()
    })
    session.on("env", (accept, reject, { key, val }) => {
      const isTaken =
        variableName.test(key) &&
        val.length <= variableMaxCharacters &&
        !val.includes("\0") &&
        Object.keys(env).length < variablesMax
      if (isTaken) env[key] = val
      if (isTaken) accept?.()
      else reject?.()
    })
    session.on("signal", (accept, _reject, { name }) => {
      if (process !== null) run(process.signal(signalOf(name)))
      accept?.()
    })
    session.on("shell", (accept, reject) => (started ? reject() : start(accept(), loginShell)))
    session.on("exec", (accept, reject, { command }) => (started ? reject() : start(accept(), byShell(command))))
    session.on("subsystem", (accept, reject, { name }) =>
      started || name !== "sftp" ? reject() : start(accept(), sftpServer)
    )
  })
}, Effect.scoped)
