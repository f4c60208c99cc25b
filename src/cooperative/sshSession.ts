/**
 * What a client asks of one SSH session channel: a shell, a command or sftp, as a process in the Sandbox.
 *
 * @source RFC 4254 sections 6.2 (pty-req), 6.5 (exec), 6.7 (window-change), 6.9 (signal), 6.10 (exit-status)
 */
import { once } from "node:events"
import { Effect, Fiber, Stream } from "effect"
import type { ServerChannel, Session } from "ssh2"
import type { Guest, GuestUnavailable, ProcessChannel, TerminalSize } from "../runtime/Guest.ts"

const variablesMax = 64
const variableMaxCharacters = 4096
const variableName = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
/** When a session cannot be had at all: as `ssh` itself exits. */
const failedExitCode = 255

const loginShell = ["/bin/sh", "-c", 'exec "$SHELL" -l']
const byShell = (command: string) => ["/bin/sh", "-c", 'exec "$SHELL" -c "$1"', "sh", command]
/** OpenSSH's own server, which Debian has as openssh-sftp-server. */
const sftpServer = [
  "/bin/sh",
  "-c",
  'for at in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do [ -x "$at/sftp-server" ] && exec "$at/sftp-server"; done; echo "sftp: this Sandbox has no sftp-server (package openssh-sftp-server)" >&2; exit 127'
]

const write = async (channel: ServerChannel, stream: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> => {
  if (channel.destroyed || stream.write(bytes)) return
  await Promise.race([once(stream, "drain"), once(channel, "close")])
}

/** Input of the client, one piece after the other: the channel's window is what holds it back. */
const feed = (channel: ServerChannel, process: ProcessChannel): void => {
  channel.on("data", (bytes: Buffer) => {
    channel.pause()
    Effect.runPromise(process.write(bytes)).then(
      () => void channel.resume(),
      () => channel.destroy()
    )
  })
  channel.on("end", () => void Effect.runFork(process.end))
}

/** Runs it to its end and tells the client how it ended. What it left in the background goes on, as with sshd. */
const carry = (channel: ServerChannel, process: ProcessChannel) =>
  Effect.gen(function* () {
    feed(channel, process)
    yield* Stream.runForEach(
      Stream.takeUntil(process.frames, (frame) => frame.type === "exited"),
      (frame) =>
        Effect.promise(async () => {
          if (frame.type === "output") {
            await write(channel, frame.stream === "stdout" ? channel : channel.stderr, frame.bytes)
          } else if (frame.type === "exited") {
            if (frame.signal === null) channel.exit(frame.exitCode ?? failedExitCode)
            else channel.exit(frame.signal.replace(/^SIG/, ""), false, "")
          }
        })
    )
  })

export const serveSession = (session: Session, guest: Effect.Effect<Guest, GuestUnavailable>): void => {
  const env: Record<string, string> = {}
  let terminal: TerminalSize | null = null
  let process: ProcessChannel | null = null
  let started = false

  const start = (channel: ServerChannel, argv: ReadonlyArray<string>): void => {
    started = true
    const run = Effect.gen(function* () {
      const { processes } = yield* guest
      process = yield* processes.open({ argv, cwd: "/workspace", env, terminal })
      yield* carry(channel, process)
    }).pipe(
      Effect.scoped,
      Effect.catchTag(["GuestUnavailable", "SpawnRefused"], (error) =>
        Effect.sync(() => {
          if (channel.destroyed) return
          channel.stderr.write(`atoll: ${error.message}\r\n`)
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
    const fiber = Effect.runFork(run)
    channel.on("error", () => {})
    // Its scope ends the process.
    channel.once("close", () => void Effect.runFork(Fiber.interrupt(fiber)))
  }

  const resize = (size: TerminalSize) => {
    terminal = size
    if (process !== null) Effect.runFork(process.resize(size))
  }

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
    if (process !== null) Effect.runFork(process.signal(`SIG${name.replace(/^SIG/, "")}`))
    accept?.()
  })
  session.on("shell", (accept, reject) => (started ? reject() : start(accept(), loginShell)))
  session.on("exec", (accept, reject, { command }) => (started ? reject() : start(accept(), byShell(command))))
  session.on("subsystem", (accept, reject, { name }) =>
    started || name !== "sftp" ? reject() : start(accept(), sftpServer)
  )
}
