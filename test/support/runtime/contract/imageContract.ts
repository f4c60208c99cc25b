/** What every driver shows of an image in its Sandboxes. The image has the files `withShell`, and another one without a shell. */
import { expect } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { Guest, ProcessChannel } from "../../../../src/runtime/Guest.ts"
import { program } from "../../host/image/busyboxImage.ts"
import type { LayerEntry } from "../../host/image/TestRegistry.ts"
import { commandSpec, output, run } from "./commands.ts"

const names = ["bin", "dev", "etc", "greeting", "proc", "run", "sys", "tmp", "usr", "workspace"]

const collected = (channel: ProcessChannel) =>
  Stream.runFold(
    channel.frames,
    () => "",
    (text, frame) => (frame.type === "output" ? text + Buffer.from(frame.bytes).toString() : text)
  )

/** The guest has the image's files and none of its host's, runs commands and terminals in it, and changes none of the files. */
export const hasOnlyTheImage = (guest: Guest, hostname: string) =>
  Effect.gen(function* () {
    expect((yield* output(guest, "ls /")).split("\n")).toEqual(names)
    expect(yield* output(guest, "cat /greeting; id; cat /etc/hostname; ls -a /tmp | wc -l; pwd")).toBe(
      `hello\nuid=1000(sandbox) gid=1000(sandbox)\n${hostname}\n2\n/workspace`
    )
    const changed = yield* run(guest, commandSpec(["sh", "-c", "echo x > /greeting"]))
    expect(changed.stderr).toMatch(/Read-only|Permission denied/)
    const opened = guest.processes.open({
      argv: ["/bin/sh", "-c", "stty size; echo $SHELL"],
      cwd: "/workspace",
      env: {},
      terminal: { columns: 101, rows: 37 },
      purpose: "terminal"
    })
    expect(yield* Effect.scoped(Effect.flatMap(opened, collected))).toBe("37 101\r\n/bin/sh\r\n")
  })

export const withoutShell: ReadonlyArray<LayerEntry> = [program("app/cat"), { name: "text", content: "bare" }]

/** A guest from `withoutShell` runs its program, and refuses a terminal with the reason. */
export const runsWithoutShell = (guest: Guest) =>
  Effect.gen(function* () {
    expect((yield* run(guest, commandSpec(["/app/cat", "/text"]))).stdout).toBe("bare")
    const terminal = guest.processes.open({
      argv: ["/app/cat"],
      cwd: "/workspace",
      env: {},
      terminal: { columns: 80, rows: 24 },
      purpose: "terminal"
    })
    expect(yield* Effect.flip(Effect.scoped(terminal))).toMatchObject({ _tag: "SpawnRefused", code: "SHELL_MISSING" })
  })
