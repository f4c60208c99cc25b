/** The customer's command line against the real service: every command as a process of its own. */
import { createHash, randomBytes } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Layer } from "effect"
import { freePort } from "../../../support/freePort.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { untilFound } from "../../../support/until.ts"
import { asCustomer, Customer } from "./Customer.ts"
import { Tmux } from "./Tmux.ts"

const settings = {
  ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2),
  ATOLL_COOPERATIVE: "on",
  ATOLL_SSH_PORT: "0",
  ATOLL_SERVICE_ACCESS: "on"
}

const served = ServedAtoll.layer(freshDriver(settings), settings).pipe(Layer.provideMerge(TestDatabase.layer))

const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

/** What would do something on a terminal. */
const doesSomething = (text: string): boolean =>
  [...text].some(
    (character) =>
      (character < " " && character !== "\n") || (character > "~" && character < "\xa0") || character === "\u202e"
  )

/** As tmux tells it. */
const coloured = new RegExp(`${"\x1b"}\\[31mred`)

describe.skipIf(skipped(unusable))("the customer's command line", () => {
  layer(Customer.layer.pipe(Layer.provideMerge(served)), { excludeTestServices: true })((it) => {
    it.effect("says what is wrong and what to do, and how it ends", () =>
      asCustomer(async ({ atoll, environment, bash }) => {
        const other = "sbx_01m821aq5ge84rb1c2dn3m2zzz"
        const [version, overview, help, none, typo, option, away, missing, full, ...unknown] = await Promise.all([
          atoll(["--version"]),
          atoll(["help"]),
          atoll(["run", "--help"]),
          atoll([]),
          atoll(["sandbox", "craete"]),
          atoll(["logs", "dev", "--folow"]),
          atoll(["usage"], { env: { ...environment, ATOLL_URL: `http://127.0.0.1:${await freePort()}` } }),
          atoll(["sandbox", "show", "nobody"]),
          bash("atoll help > /dev/full"),
          atoll(["sandbox", "delete", other]),
          atoll(["operation", "show", "dev", "op_none"]),
          // Whose exit codes are otherwise those of a command in a Sandbox.
          atoll(["operation", "output", "dev", "op_none"]),
          atoll(["shell", other]),
          atoll(["ssh", other, "--", "true"]),
          atoll(["run", "-s", other, "--", "true"])
        ])
        assert.deepStrictEqual(
          unknown.map(({ code }) => code),
          [1, 1, 125, 125, 125, 125]
        )
        assert.include(unknown[0]!.stderr, `There is no Sandbox "${other}". \`atoll sandbox list\` shows`)
        assert.include(
          unknown[1]!.stderr,
          'There is no operation "op_none" in this Sandbox. `atoll operation list sbx_'
        )
        assert.match(version.stdout, /^atoll \d+\.\d+\.\d+ \(API 2\.\d+\.\d+, Node /)
        for (const { stdout, code } of [overview, help]) assert.deepStrictEqual([code, stdout.slice(-1)], [0, "\n"])
        assert.match(overview.stdout, /Exit codes\n {2}0 /)
        assert.match(help.stdout, /Examples\n {2}# .*\n {2}atoll run /)
        assert.deepStrictEqual([none.code, none.stdout], [2, ""])
        assert.strictEqual(typo.code, 2)
        assert.include(typo.stderr, "Did you mean `create`?")
        assert.strictEqual(option.code, 2)
        assert.include(option.stderr, "Did you mean --follow?")
        assert.strictEqual(away.code, 1)
        assert.match(away.stderr, /127\.0\.0\.1:\d+ was not reached: nothing listens there\./)
        assert.strictEqual(missing.code, 1)
        assert.match(missing.stderr, /no Sandbox "nobody"\. `atoll sandbox list`/)
        assert.strictEqual(full.code, 1)
      })
    )

    it.effect("makes, lists, shows, stops, starts and deletes Sandboxes, by id and by name", () =>
      asCustomer(async ({ answer, atoll, bash, environment, folder, json }) => {
        writeFileSync(join(folder, "vars"), "# of a file\nFROM_FILE=one two\n")
        const words = ["sandbox", "create", "--name", "api", "-m", "team=blue", "-m", "stage=test", "--env", "GIVEN=1"]
        const more = [
          "--env",
          "HERE",
          "--env-from",
          join(folder, "vars"),
          "--stop-after",
          "2h",
          "--stop-after-idle",
          "30m"
        ]
        const created = await atoll([...words, ...more, "--delete-after-stopped", "7d", "--no-network", "--json"], {
          env: { ...environment, HERE: "secret" }
        })
        assert.deepStrictEqual([created.code, created.stderr], [0, ""])
        const { sandbox } = JSON.parse(created.stdout)
        assert.deepInclude(sandbox, { name: "api", status: "running", networkEnabled: false })
        assert.deepStrictEqual(sandbox.metadata, { team: "blue", stage: "test" })
        assert.deepStrictEqual(sandbox.envNames, ["FROM_FILE", "GIVEN", "HERE"])
        assert.deepInclude(sandbox.lifetime, {
          stopAfterSeconds: 7200,
          stopAfterIdleSeconds: 1800,
          deleteAfterStoppedSeconds: 604_800
        })
        const [told, listed, marked, shown] = await Promise.all([
          answer("run", "-s", "api", "--", "sh", "-c", 'echo "$FROM_FILE $GIVEN $HERE"'),
          answer("sandbox", "list"),
          json("sandbox", "list", "--metadata", "team=blue", "--status", "running"),
          answer("sandbox", "show", "api")
        ])
        assert.strictEqual(told, "one two 1 secret\n")
        assert.match(listed, /^ID +NAME +STATUS +AGE +METADATA\n/)
        assert.match(listed, new RegExp(`${sandbox.id} +api +running .*team=blue`))
        assert.deepStrictEqual(
          marked.sandboxes.map(({ id }: { readonly id: string }) => id),
          [sandbox.id]
        )
        assert.match(shown, /variables +FROM_FILE GIVEN HERE/)
        assert.notInclude(shown, "secret")
        const change = ["--name", "api2", "-m", "stage=", "--remove-metadata", "team", "--env", "GIVEN=2"]
        const further = ["--remove-env", "HERE", "--stop-after", "never", "--delete-after-stopped", "1d"]
        const changed = await answer("sandbox", "update", "api", ...change, ...further)
        assert.strictEqual(changed, `${sandbox.id} (api2) is changed.\n`)
        const [nothing, after, inIt] = await Promise.all([
          atoll(["sandbox", "update", sandbox.id]),
          json("sandbox", "update", sandbox.id, "--name", "api"),
          answer("run", "-s", sandbox.id, "--", "sh", "-c", 'echo "$FROM_FILE $GIVEN $HERE."')
        ])
        assert.strictEqual(nothing.code, 2)
        assert.deepStrictEqual(after.sandbox.metadata, { stage: "" })
        assert.deepInclude(after.sandbox.lifetime, {
          stopAfterSeconds: null,
          stopAfterIdleSeconds: 1800,
          deleteAfterStoppedSeconds: 86_400
        })
        assert.strictEqual(inIt, "one two 2 .\n")
        assert.strictEqual(await answer("sandbox", "stop", "api"), `${sandbox.id} (api) is stopped.\n`)
        const stopped = await atoll(["run", "-s", "api", "--", "true"])
        assert.strictEqual(stopped.code, 125)
        assert.include(stopped.stderr, "`atoll sandbox start`")
        assert.strictEqual(await answer("sandbox", "start", sandbox.id), `${sandbox.id} (api) runs.\n`)
        const some = await atoll(["sandbox", "delete", "api", "nobody"])
        assert.deepStrictEqual([some.code, some.stdout], [1, `${sandbox.id} (api) is deleted.\n`])
        assert.match(some.stderr, /^atoll: nobody: There is no Sandbox/)
        const left = await bash("atoll sandbox list -q")
        assert.notInclude(left.stdout, sandbox.id)
      })
    )

    it.effect("makes what names and programs say harmless on a terminal, and in JSON", () =>
      asCustomer(async ({ answer, atoll, json, bash }) => {
        const name = "evil\u009b31m\u202egnp.exe"
        const { sandbox } = await json(
          "sandbox",
          "create",
          "--no-wait",
          "--name",
          name,
          "-m",
          "k=a\x1b]0;title\x07b\nc"
        )
        assert.strictEqual(sandbox.name, name)
        for (const words of [["list"], ["list", "--json"], ["show", sandbox.id], ["delete", sandbox.id]]) {
          const { stdout } = await atoll(["sandbox", ...words])
          assert.isFalse(doesSomething(stdout), JSON.stringify(stdout))
        }
        await answer("run", "-s", "dev", "--", "printf", "\\033]0;title\\007\\033[31mred\\033[0m\\n")
        // On a terminal: only its colours.
        const seen = await bash("script -qec 'atoll logs dev --limit 1' /dev/null")
        assert.include(seen.stdout, "␛]0;title␇\x1b[31mred\x1b[0m")
      })
    )

    it.effect("ends as the command does; passes its streams, and its input through", () =>
      asCustomer(async ({ answer, atoll, bare, start, json, sandboxId }) => {
        const inDev = (...words: ReadonlyArray<string>) => ["run", "-s", "dev", ...words]
        const large = randomBytes(2_500_000)
        await answer("run", "-s", "dev", "--", "mkdir", "-p", "below")
        const [streams, below, nobody, killed, late, absent, own, input, carried, early] = await Promise.all([
          atoll(inDev("--cwd", "/tmp/..", "--", "true")),
          atoll(inDev("--cwd", "below", "--", "pwd")),
          atoll(inDev("true"), { env: bare }),
          atoll(inDev("sh", "-c", "kill -9 $$")),
          atoll(inDev("--timeout", "1s", "--", "sleep", "60")),
          atoll(inDev("--", "no-such-program")),
          atoll(["run", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]),
          atoll(inDev("--", "cat"), { input: "abc" }),
          atoll(inDev("--", "sha256sum"), { input: large }),
          atoll(inDev("--", "head", "-c", "3"), { input: large })
        ])
        assert.deepStrictEqual([streams.code, killed.code, late.code, absent.code], [125, 137, 124, 127])
        assert.deepStrictEqual([nobody.code, below.stdout], [125, "/workspace/below\n"])
        assert.deepStrictEqual(own, { code: 7, stdout: "out\n", stderr: "err\n" })
        assert.deepStrictEqual(input, { code: 0, stdout: "abc", stderr: "" })
        assert.strictEqual(carried.stdout.slice(0, 64), digest(large))
        assert.deepStrictEqual([early.code, early.stdout.length, early.stderr], [0, early.stdout.length, ""])

        // One line after the other, while the input goes on.
        const echoing = start(inDev("--", "sh", "-c", 'while read line; do echo "got $line"; done; exit 9'), {
          input: null
        })
        for (const line of ["one", "two"]) {
          echoing.child.stdin.write(`${line}\n`)
          await echoing.hasSaid(`got ${line}`)
        }
        echoing.child.stdin.end()
        assert.strictEqual((await echoing.ended).code, 9)
        const { operation, stdout, stderr, truncated } = await json(
          ...inDev("--", "sh", "-c", "echo héllo; echo oops >&2")
        )
        assert.deepInclude(operation, { sandboxId, status: "completed", exitCode: 0 })
        assert.deepStrictEqual([stdout, stderr, truncated], ["héllo\n", "oops\n", false])
        const files = await atoll(inDev("--", "sh", "-c", "rmdir below; ls -A /workspace"))
        assert.strictEqual(files.stdout, "", "nothing of what carried the input is left")
        const { sandboxes } = await json("sandbox", "list")
        assert.isTrue(sandboxes.every((sandbox: { readonly name: string }) => sandbox.name !== "atoll run"))
      })
    )

    it.effect("writes without end as fast as it is read, and ends the command when nobody reads on", () =>
      asCustomer(async ({ bash, json }) => {
        const { stdout, stderr } = await bash(
          "set -o pipefail; atoll run -s dev -- yes | head -c 3000000 | wc -c; echo $?; atoll logs -f dev | head -c 10 > /dev/null; echo $?"
        )
        assert.deepStrictEqual(stdout.trim().split("\n"), ["3000000", "141", "141"])
        assert.notInclude(stderr, "EPIPE")
        const { operations } = await json("operation", "list", "dev", "--limit", "1")
        assert.deepStrictEqual([operations[0].argv, operations[0].status], [["yes"], "cancelled"])
        const full = await bash("atoll run -s dev -- yes full > /dev/full")
        assert.match(full.stderr, /no space left on device/)
        const { operations: last } = await json("operation", "list", "dev", "--limit", "1")
        assert.deepStrictEqual([full.code, last[0].argv[1], last[0].status], [125, "full", "cancelled"])
      })
    )

    it.effect("cancels the command on Ctrl-C, and leaves at once on the second", () =>
      asCustomer(async ({ json, start, sandboxId }) => {
        const polite = start([
          "run",
          "-s",
          "dev",
          "--",
          "sh",
          "-c",
          "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done"
        ])
        await polite.hasSaid("up\n")
        polite.child.kill("SIGINT")
        const { code, stdout } = await polite.ended
        assert.deepStrictEqual([code, stdout], [130, "up\nbye\n"])
        const term = start(["run", "-s", "dev", "--", "sh", "-c", "echo up; sleep 600"])
        await term.hasSaid("up\n")
        term.child.kill("SIGTERM")
        assert.strictEqual((await term.ended).code, 143)
        const { operations } = await json("operation", "list", "dev", "--limit", "2")
        assert.deepStrictEqual(
          operations.map(({ status }: { readonly status: string }) => status),
          ["cancelled", "cancelled"]
        )

        const own = start(["run", "--", "sh", "-c", "echo up; sleep 600"])
        await own.hasSaid("up\n")
        own.child.kill("SIGINT")
        assert.strictEqual((await own.ended).code, 130)
        await untilFound(async () => {
          const { sandboxes } = await json("sandbox", "list", "--status", "running")
          return sandboxes.every(({ id }: { readonly id: string }) => id === sandboxId)
        })

        const stubborn = start([
          "run",
          "-s",
          "dev",
          "--",
          "sh",
          "-c",
          "trap '' TERM; echo up; while :; do sleep 0.05; done"
        ])
        await stubborn.hasSaid("up\n")
        stubborn.child.kill("SIGINT")
        // The service has heard of the first.
        await untilFound(
          async () => (await json("operation", "list", "dev", "--limit", "1")).operations[0].status === "cancelled"
        )
        stubborn.child.kill("SIGINT")
        assert.strictEqual((await stubborn.ended).code, 130)
      })
    )

    it.effect("shows operations, logs, events and usage, and follows them", () =>
      asCustomer(async ({ answer, atoll, json, start, sandboxId }) => {
        const following = start(["events", "dev", "-f", "--json"], { input: null })
        const reading = start(["logs", "dev", "-f", "--stream", "stderr"], { input: null })
        let isFollowing = false
        void following.hasSaid('"to":"completed"').then(() => {
          isFollowing = true
        })
        await untilFound(async () => {
          await answer("run", "-s", "dev", "--", "true")
          return isFollowing
        })
        const id = (
          await answer("run", "-s", "dev", "-d", "--", "sh", "-c", "echo begun; echo oops-$((40 + 2)) >&2; sleep 600")
        ).trim()
        assert.match(id, /^op_[0-9a-f]{32}$/)
        const output = start(["operation", "output", "dev", id])
        await Promise.all([output.hasSaid("begun\n"), reading.hasSaid("oops-42\n")])
        assert.match(await answer("operation", "list", "dev"), new RegExp(`${id} +running .*sh -c echo begun`))
        assert.strictEqual(await answer("operation", "cancel", "dev", id), `${id} is cancelled.\n`)
        const cancelled = await output.ended
        assert.deepStrictEqual([cancelled.code, cancelled.stdout], [125, "begun\n"])
        assert.match(cancelled.stderr, /oops-42\natoll: The command was cancelled\.\n$/)
        const later = await atoll(["operation", "output", "dev", id, "--from-stdout", "3"])
        assert.strictEqual(later.stdout, "un\n")
        const { operation } = await json("operation", "show", "dev", id)
        assert.strictEqual(operation.status, "cancelled")

        const past = await json("events", sandboxId)
        const states = past.transitions.filter(({ actorId }: { readonly actorId: string }) => actorId === id)
        assert.include(states.map(({ to }: { readonly to: string }) => to).join(), "queued,running,cancelled")
        await following.hasSaid(/"to":"cancelled"/)
        for (const watching of [following, reading]) watching.child.kill("SIGINT")
        const events = (await following.ended).stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
        assert.isTrue(events.every(({ sandboxId: of, position }) => of === sandboxId && typeof position === "string"))
        await reading.ended
        const timed = await atoll(["logs", "dev", "--operation", id, "--timestamps", "--since", "1h"])
        assert.match(timed.stdout, /^\d{4}-.*Z process stdout \| begun\n$/)
        assert.match(timed.stderr, /^\d{4}-.*Z process stderr \| oops-42\n$/)
        const { usage, balance, costs } = await json("usage", "--by", "day")
        assert.isAbove(usage.operations, 0)
        assert.deepStrictEqual([balance.currency, costs.costs.length], ["USD", 1])
        assert.match(await answer("usage"), /credit +unlimited\n/)
      })
    )

    it.effect("copies files and directories both ways, whole or not at all", () =>
      asCustomer(async ({ answer, atoll, bash, folder, json }) => {
        const here = (...names: ReadonlyArray<string>) => join(folder, "cp", ...names)
        mkdirSync(here("app/deep/er"), { recursive: true })
        const large = randomBytes(9_000_000)
        writeFileSync(here("app/large"), large)
        writeFileSync(here("app/deep/run.sh"), "#!/bin/sh\necho ran\n", { mode: 0o755 })
        writeFileSync(here("app/deep/er/ü \u202e.txt"), "text")
        symlinkSync("run.sh", here("app/deep/link"))

        await answer("cp", here("app"), "dev:")
        await answer("cp", here("app/."), "dev:renamed")
        const listed = await answer(
          "run",
          "-s",
          "dev",
          "--",
          "sh",
          "-c",
          "cd app && ./deep/link && cd .. && diff -r app renamed && sha256sum < app/large"
        )
        assert.strictEqual(listed, `ran\n${digest(large)}  -\n`)
        await answer("cp", "dev:app", here("back"))
        await answer("cp", "dev:app", here("back"))
        const same = await bash(
          `diff -r ${here("app")} ${here("back")} | grep -v 'Only in .*back: app'; diff -r ${here("app")} ${here("back/app")}; readlink ${here("back/deep/link")}`
        )
        assert.deepStrictEqual([same.stdout, same.stderr], ["run.sh\n", ""])

        await answer("run", "-s", "dev", "--", "mkdir", "files")
        const { copied } = await json("cp", here("app/large"), here("app/deep/run.sh"), "dev:files")
        assert.deepStrictEqual(
          copied.map(({ to, type, bytes }: { readonly to: string; readonly type: string; readonly bytes: number }) => [
            to,
            type,
            bytes
          ]),
          [
            ["/workspace/files/large", "file", large.length],
            ["/workspace/files/run.sh", "file", 19]
          ]
        )
        assert.strictEqual(await answer("run", "-s", "dev", "--", "files/run.sh"), "ran\n")
        await answer("cp", "dev:files/large", "dev:files/run.sh", here())
        assert.deepStrictEqual(readFileSync(here("large")), large)
        assert.strictEqual(statSync(here("run.sh")).mode & 0o777, 0o755)
        const piped = await bash("printf 'from stdin' | atoll cp - dev:piped && atoll cp dev:piped -")
        assert.deepStrictEqual([piped.code, piped.stdout, piped.stderr], [0, "from stdin", ""])

        const wrong = await Promise.all([
          atoll(["cp", here("app"), here("other")]),
          atoll(["cp", "dev:a", "other:b"]),
          atoll(["cp", here("none"), "dev:"]),
          atoll(["cp", "dev:none", here()]),
          atoll(["cp", "dev:/etc/passwd", here()]),
          atoll(["cp", here("large"), "dev:no/such/place"]),
          atoll(["cp", "dev:piped", here("no/such/place")])
        ])
        assert.deepStrictEqual(
          wrong.map(({ code }) => code),
          [2, 2, 1, 1, 1, 1, 1]
        )
        assert.match(wrong[5]!.stderr, /There is no directory \/workspace\/no\/such in the Sandbox/)
        assert.match(
          wrong[6]!.stderr,
          /^atoll: There is no directory .*\/cp\/no\/such here: make it, or name another\.\n$/
        )
        // A link to a directory is that directory, both ways; one that leads out of /workspace is a link.
        await answer("run", "-s", "dev", "--", "sh", "-c", "ln -s files to-files && ln -s /tmp out")
        await answer("cp", here("app/deep/er"), "dev:to-files")
        await answer("cp", here("run.sh"), "dev:to-files/")
        await answer("cp", "dev:to-files", here("followed"))
        const followed = await bash(`cd ${here("followed")} && find . | sort | head -3`)
        assert.strictEqual(followed.stdout, ".\n./er\n./er/ü \u202e.txt\n")
        assert.isTrue(statSync(here("followed/run.sh")).isFile())
        const inTheWay = await Promise.all([
          atoll(["cp", "dev:to-files", here("large")]),
          atoll(["cp", here("app"), "dev:piped"]),
          atoll(["cp", here("run.sh"), "dev:out/"])
        ])
        assert.deepStrictEqual(
          inTheWay.map(({ code }) => code),
          [1, 1, 1]
        )
        assert.match(
          inTheWay[0]!.stderr,
          /^atoll: .*\/cp\/large is no directory, and \/workspace\/to-files is one\.\n$/
        )
        await answer("run", "-s", "dev", "--", "rm", "to-files", "out")
        await answer("run", "-s", "dev", "--", "ln", "-s", "piped", "linked")
        const long = "n".repeat(255)
        await answer("cp", "dev:linked", here(long))
        assert.strictEqual(readFileSync(here(long), "utf8"), "from stdin")
        assert.strictEqual(statSync(here(long)).mode & 0o111, 0)

        // With a bar on a terminal, and one that is interrupted leaves nothing behind.
        const seen = await bash(`script -qec 'atoll cp ${here("large")} dev:again' /dev/null`)
        assert.match(seen.stdout, /\[#{24}\] 100% {2}8\.6 MiB .*again/)
        await answer("run", "-s", "dev", "--", "rm", "-r", "app", "renamed", "files", "again", "piped", "linked")
        assert.deepStrictEqual(
          readdirSync(here()).filter((name) => name.startsWith(".")),
          []
        )
      })
    )

    it.effect("opens previews, forwards ports, and connects by ssh", () =>
      asCustomer(async ({ answer, atoll, json, start }) => {
        const server = "require('http').createServer((_, r) => r.end('hello')).listen(3000)"
        const id = (await answer("run", "-s", "dev", "-d", "--", "node", "-e", server)).trim()
        const url = (await answer("open", "dev", "3000")).trim()
        assert.match(url, /^http:\/\/[0-9a-f]{32}\./)
        const again = await atoll(["open", "dev", "3000"])
        assert.deepStrictEqual(again, { code: 0, stdout: `${url}\n`, stderr: "" })
        const another = await atoll(["open", "dev", "3999", "--wait", "0s"])
        assert.strictEqual(another.code, 1)
        assert.match(another.stderr, /--alongside .*--replace/)
        assert.match(await answer("open", "dev", "3999", "--wait", "0s", "--alongside"), /^http:/)
        assert.strictEqual(await answer("open", "dev", "3000"), `${url}\n`)
        const { preview } = await json("open", "dev", "3000", "--replace")
        assert.notStrictEqual(preview.url, url)
        const silent = await atoll(["open", "dev", "3999", "--replace", "--wait", "0s"])
        assert.strictEqual(silent.code, 0)

        const forwarding = start(["forward", "dev", "0:3000", "0:3999", "--json"], { input: null })
        await forwarding.hasSaid("}\n")
        const { forwards } = JSON.parse(forwarding.stdout())
        assert.deepStrictEqual(
          forwards.map(({ port }: { readonly port: number }) => port),
          [3000, 3999]
        )
        const answered = await fetch(`http://127.0.0.1:${forwards[0].localPort}/`)
        assert.strictEqual(await answered.text(), "hello")
        await fetch(`http://127.0.0.1:${forwards[1].localPort}/`).catch(() => {})
        await forwarding.hasSaid("listens on port 3999")
        const taken = await atoll(["forward", "dev", `${forwards[0].localPort}:3000`])
        assert.strictEqual(taken.code, 1)
        assert.include(taken.stderr, "Take another one")
        // The order of versions before 0.3.
        const reversed = start(["forward", "dev", `3000:${await freePort()}`], { input: null })
        await reversed.hasSaid(/a program does on 3000\. The order is LOCAL:REMOTE since version 0\.3/)
        reversed.child.kill("SIGINT")
        assert.strictEqual((await reversed.ended).code, 0)
        const nowhere = await atoll(["forward", "nothing", "3000"])
        assert.deepStrictEqual([nowhere.code, nowhere.stdout], [1, ""])
        const until = await answer("operation", "output", "dev", id, "--no-follow")
        assert.strictEqual(until, "")
        forwarding.child.kill("SIGINT")
        assert.strictEqual((await forwarding.ended).code, 0)
        await answer("operation", "cancel", "dev", id)

        const before = readdirSync(tmpdir()).filter((name) => name.startsWith("atoll-ssh-"))
        const secure = await atoll(["ssh", "dev", "--", "cat; exit 4"], { input: "over ssh" })
        assert.deepStrictEqual(secure, { code: 4, stdout: "over ssh", stderr: "" })
        const after = readdirSync(tmpdir()).filter((name) => name.startsWith("atoll-ssh-"))
        assert.deepStrictEqual(
          after.filter((name) => !before.includes(name)),
          [],
          "the key is gone"
        )
      })
    )

    it.effect(
      "is a terminal: resized, coloured, interrupted, with a full screen, and as it was before when it ends",
      () =>
        asCustomer(async ({ answer, environment, folder }) => {
          const tmux = await Tmux.open(join(folder, "tmux"), environment, { columns: 100, rows: 30 })
          const afterwards = '; echo "left=$? raw=$(stty -a | grep -c -e -icanon)"'
          try {
            await tmux.type(`PS1='here> '; clear; atoll shell dev${afterwards}`)
            await tmux.shows(/\$$/)
            await tmux.type("PS1='there> '; clear; stty size; printf '\\033[31mred\\033[0m\\n'")
            await tmux.shows(/^30 100$/m)
            await tmux.shows(coloured, "coloured")
            await tmux.resize(120, 40)
            await untilFound(async () => {
              await tmux.type("stty size")
              return /^40 120$/m.test(await tmux.screen())
            })
            await tmux.type("clear; echo up-$((1 + 1)); sleep 600")
            await tmux.shows(/^up-2$/m)
            await tmux.keys("C-c")
            await tmux.shows(/there>$/)
            await tmux.type("echo code=$?")
            await tmux.shows(/^code=130$/m)

            const editor = (
              await answer("run", "-s", "dev", "--", "sh", "-c", "command -v vi || command -v less")
            ).trim()
            await tmux.type(`clear; echo first line > text; ${editor} text`)
            await tmux.shows(/^first line\n[^$]*$/)
            if (editor.endsWith("vi")) {
              await tmux.keys("i", "edited ", "Escape")
              await tmux.type(":wq")
            } else await tmux.keys("q")
            // What is typed while an editor ends is its own.
            await tmux.shows(/there>$/)
            await tmux.type("cat text; echo closed-$((1 + 1))")
            await tmux.shows(editor.endsWith("vi") ? /^edited first line\nclosed-2$/m : /^first line\nclosed-2$/m)
            await tmux.type("exit 3")
            await tmux.shows(/^left=3 raw=0$/m)

            // Left by the keys that leave it, and cut from the other side with a full screen open.
            await tmux.type(`clear; atoll shell dev${afterwards}`)
            await tmux.shows(/\$$/)
            await tmux.type("")
            await tmux.keys("~", ".")
            await tmux.shows(/^left=130 raw=0$/m)
            await tmux.type(`clear; atoll shell dev${afterwards}`)
            await tmux.shows(/\$$/)
            await tmux.type(`${editor} text`)
            await tmux.shows(/^(?:edited )?first line\n[^$]*$/)
            await answer("sandbox", "stop", "dev")
            await tmux.shows(/^left=125 raw=0$/m)
            assert.notMatch(await tmux.screen(), /first line/)
            await answer("sandbox", "start", "dev")
          } finally {
            await tmux.close()
          }
        })
    )

    it.effect("asks a person for the key, and does not show it", () =>
      asCustomer(async ({ bare, folder, key, url }) => {
        const tmux = await Tmux.open(join(folder, "login"), bare, { columns: 120, rows: 30 })
        try {
          await tmux.type("PS1='here> '; clear; atoll login")
          await tmux.shows(/Address of the service \[http:\/\/127\.0\.0\.1:8080\]:$/)
          await tmux.type(url)
          await tmux.shows(/API key \(not shown\):$/)
          await tmux.keys("x", "C-u", "wrong", "BSpace")
          await tmux.keys("C-u")
          await tmux.type(key)
          await tmux.shows(/Logged in to .* as default with the key …/)
          assert.notInclude((await tmux.screen()).replaceAll("\n", ""), key.slice(-20))
          await tmux.type("clear; echo raw=$(stty -a | grep -c -e -icanon -e '-echo ')")
          await tmux.shows(/^raw=0$/m)
          assert.strictEqual(
            JSON.parse(readFileSync(join(folder, ".config/atoll/credentials.json"), "utf8")).apiKey,
            key
          )
          await tmux.type("clear; atoll login --url http://127.0.0.1:1")
          await tmux.shows(/not shown\):$/)
          await tmux.keys("C-c")
          await tmux.shows(/Nothing was changed\.\nhere>$/)
        } finally {
          await tmux.close()
        }
      })
    )

    it.effect("completes words in bash: commands, options, their values, Sandboxes, files here and there", () =>
      asCustomer(async ({ answer, atoll, bash, environment, folder }) => {
        for (const [shell, check] of [
          ["bash", "bash -n"],
          ["zsh", "zsh -n"],
          ["fish", "fish --no-execute"]
        ] as const) {
          const { stdout, code } = await atoll(["completion", shell])
          assert.strictEqual(code, 0)
          writeFileSync(join(folder, `completion.${shell}`), stdout)
          const checked = await bash(
            `command -v ${shell} > /dev/null || exit 0; ${check} ${folder}/completion.${shell}`
          )
          assert.deepStrictEqual([checked.code, checked.stderr], [0, ""], shell)
        }
        // The question of readline, and the answer.
        const script = `source ${folder}/completion.bash
          compopt() { :; }
          for line in 'atoll sandb' 'atoll sandbox st' 'atoll run --sandbox=de' 'atoll logs ' 'atoll logs dev --stream ' 'atoll run --env-from ${folder}/at'; do
            COMP_LINE=$line COMP_POINT=\${#line}; _atoll atoll; echo "\${COMPREPLY[*]}"
          done`
        const { stdout } = await bash(script)
        assert.deepStrictEqual(stdout.split("\n"), [
          "sandbox",
          "stop start",
          "dev",
          "dev",
          "stdout stderr",
          `${folder}/atoll`,
          ""
        ])

        // With a real Tab.
        await answer("run", "-s", "dev", "--", "sh", "-c", "mkdir -p tree && touch tree/leaf")
        const tmux = await Tmux.open(join(folder, "tab"), environment, { columns: 120, rows: 30 })
        try {
          await tmux.type(`PS1='here> '; source ${folder}/completion.bash; clear`)
          await tmux.shows(/^here>$/)
          for (const [keys, line] of [
            ["atoll sandbo", /> atoll sandbox$/],
            ["cre", /> atoll sandbox create$/],
            ["--no-n", /> atoll sandbox create --no-network$/],
            ["\x15atoll run --sandbox=d", /> atoll run --sandbox=dev$/],
            ["\x15atoll cp dev:tr", /> atoll cp dev:tree\/$/],
            ["le", /> atoll cp dev:tree\/leaf$/]
          ] as const) {
            await tmux.write(keys)
            await tmux.keys("Tab")
            await tmux.shows(line)
          }
        } finally {
          await tmux.close()
        }
      })
    )
  })
})
