/**
 * The same contract in real namespaces, and what only a real Sandbox can test: a process in it that fights the file
 * calls.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layer as runtime } from "../../../src/host/namespace/NamespaceRuntime.ts"
import { probe } from "../../../src/host/namespace/probe.ts"
import { fileContract } from "../../support/files/fileContract.ts"
import { entry, tape } from "../../support/files/Tape.ts"
import { type Answer, TestService } from "../../support/files/TestService.ts"

const { ok } = await Effect.runPromise(probe)

describe.skipIf(!ok)("namespaces", () => {
  fileContract("namespaces", runtime)

  layer(TestService.layer(runtime), { excludeTestServices: true, timeout: 240_000 })(
    "with a hostile process inside",
    (it) => {
      const W = "/workspace"

      /** Runs a shell script in the Sandbox. */
      const shell = ({ send, sandboxId }: TestService["Service"], script: string, timeoutSeconds = 60) =>
        send("POST", `/sandboxes/${sandboxId}/execute`, { body: { argv: ["sh", "-c", script], timeoutSeconds } })

      const code = ({ status, json, bytes }: Answer) => (status === 200 ? bytes.toString() : (json?.code ?? status))

      it.effect(
        "let no call through a directory that is swapped for links to /etc, /proc and the root",
        () =>
          Effect.flatMap(TestService, (service) =>
            Effect.promise(async () => {
              const { files } = service
              const ready = await shell(
                service,
                `mkdir a && echo inside > a/passwd && echo inside > a/hostname && ln -s /etc l && ln -s ../../../../proc/self/root/etc m && mkdir keep`
              )
              expect(ready.json.result).toMatchObject({ exitCode: 0 })
              const fight = shell(
                service,
                `end=$(( $(date +%s) + 8 )); while [ $(date +%s) -lt $end ]; do for i in 1 2 3 4 5 6 7 8 9 10; do
                 mv a real; mv l a; mv a l; mv m a; mv a m; mv real a; done; done 2>/dev/null`
              )
              let over = false
              const fought = fight.finally(() => {
                over = true
              })
              const seen = new Map<string, number>()
              const count = (outcome: string) => seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
              while (!over) {
                const outcomes = await Promise.all([
                  files("GET", "/content", { path: `${W}/a/passwd` }).then(code),
                  files("GET", "/content", { path: `${W}/a/hostname` }).then(code),
                  files("PUT", "/content", { path: `${W}/a/planted` }, { body: Buffer.from("planted") }).then(code),
                  files("GET", "/list", { path: `${W}/a` }).then((answer) =>
                    answer.status === 200
                      ? `${answer.json.entries.some(({ name }: { name: string }) => name === "shadow")}`
                      : code(answer)
                  ),
                  files("DELETE", "", { path: `${W}/a/planted` }).then(code)
                ])
                for (const outcome of outcomes) count(String(outcome))
              }
              expect((await fought).status).toBe(200)
              const expected = ["inside\n", "INVALID_PATH", "NOT_FOUND", "204", "false"]
              expect([...seen.keys()].filter((outcome) => !expected.includes(outcome))).toEqual([])
              for (const outcome of ["inside\n", "INVALID_PATH"])
                expect(seen.get(outcome) ?? 0, outcome).toBeGreaterThan(0)
            })
          ),
        60_000
      )

      it.effect(
        "neither unpack nor pack through a directory of an archive that is swapped for a link",
        () =>
          Effect.flatMap(TestService, (service) =>
            Effect.promise(async () => {
              const { files } = service
              const made = await shell(service, "mkdir /tmp/out && echo secret > /tmp/out/secret && mkdir swapped")
              expect(made.json.result).toMatchObject({ exitCode: 0 })
              const fight = shell(
                service,
                `cd swapped; end=$(( $(date +%s) + 4 )); while [ $(date +%s) -lt $end ]; do for i in 1 2 3 4 5 6 7 8 9 10; do
                 rm -rf a; ln -sT /tmp/out a; rm -rf a; mkdir a; done; done 2>/dev/null; ls -A /tmp/out`
              )
              let over = false
              const fought = fight.finally(() => {
                over = true
              })
              const planted = tape(...Array.from({ length: 20 }, (_, turn) => entry({ name: `a/planted${turn}` }, "x")))
              const tar = { "content-type": "application/x-tar" }
              const seen = new Map<string, number>()
              while (!over) {
                const [into, out] = await Promise.all([
                  files("POST", "/archive", { path: `${W}/swapped` }, { body: planted, headers: tar }),
                  files("GET", "/archive", { path: `${W}/swapped` })
                ])
                const outcome = into.status === 200 ? "done" : into.json.details.reason
                seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
                expect([out.status, out.bytes.includes("a/secret")]).toEqual([200, false])
              }
              expect((await fought).json.result.stdout).toBe("secret\n")
              expect([...seen.keys()].filter((outcome) => outcome !== "done" && outcome !== "in_the_way")).toEqual([])
              expect(seen.get("in_the_way") ?? 0).toBeGreaterThan(0)
            })
          ),
        60_000
      )

      it.effect(
        "answer calls of fifos, sockets, /dev links, loops and deep trees immediately",
        () =>
          Effect.flatMap(TestService, (service) =>
            Effect.promise(async () => {
              const { files } = service
              const made = await shell(
                service,
                `mkfifo fifo; ln -s /dev/zero zero; ln -s /proc/kcore core; ln -s loop loop; ln -s fifo tofifo; ln -s /workspace/fifo abs
               mkdir locked && touch locked/x && chmod 000 locked
               touch "$(printf 'latin\\351')"
               mkdir -p deep && cd deep && i=0; while [ $i -lt 600 ]; do mkdir d && cd d; i=$((i+1)); done`
              )
              expect(made.json.result).toMatchObject({ exitCode: 0 })
              const started = performance.now()
              for (const name of ["fifo", "zero", "core", "loop", "tofifo", "abs", "locked/x"]) {
                expect([name, code(await files("GET", "/content", { path: `${W}/${name}` }))]).toEqual([
                  name,
                  "INVALID_PATH"
                ])
              }
              expect(code(await files("PUT", "/content", { path: `${W}/fifo` }, { body: Buffer.from("x") }))).toBe(
                "INVALID_PATH"
              )
              const { entries } = (await files("GET", "/list", { path: W })).json
              const latin = entries.find(({ name }: { name: string }) => name.startsWith("latin")).name
              expect(latin).toBe("latin\u{10fee9}")
              expect((await files("DELETE", "", { path: `${W}/${latin}` })).status).toBe(204)
              expect((await files("DELETE", "", { path: `${W}/deep`, recursive: "true" })).status).toBe(204)
              expect((await files("DELETE", "", { path: `${W}/locked`, recursive: "true" })).status).toBe(204)
              expect(performance.now() - started).toBeLessThan(30_000)
              const left = await shell(service, "ls -A")
              expect(left.json.result.stdout).not.toMatch(/latin|deep|locked|staging/)
            })
          ),
        60_000
      )

      it.effect(
        "give files to the Sandbox's user, and show that user's changes",
        () =>
          Effect.flatMap(TestService, (service) =>
            Effect.promise(async () => {
              const { files } = service
              await files("POST", "/directory", { path: `${W}/mine/sub` }, { body: { recursive: true } })
              await files("PUT", "/content", { path: `${W}/mine/f` }, { body: Buffer.from("from outside") })
              const inside = await shell(
                service,
                `stat -c '%U %a' mine mine/sub mine/f; id -un; cat mine/f; chmod 700 mine/f; echo more >> mine/f`
              )
              const { exitCode, stdout } = inside.json.result
              expect(exitCode).toBe(0)
              const user = stdout.split("\n")[3]
              expect(stdout).toBe(`${user} 755\n${user} 755\n${user} 644\n${user}\nfrom outside`)
              expect((await files("GET", "/stat", { path: `${W}/mine/f` })).json).toMatchObject({
                mode: "0700",
                sizeBytes: 17
              })
            })
          ),
        60_000
      )
    }
  )

  describe.skipIf(process.getuid?.() !== 0 || !existsSync("/sys/fs/ext4"))(
    "a volume in which the kernel found a fault",
    () => {
      layer(TestService.layer(runtime), { excludeTestServices: true, timeout: 240_000 })("is read-only", (it) => {
        it.effect("answers each change with 503 and the remedy, which works; its files can be read", () =>
          Effect.flatMap(TestService, ({ files, send, sandboxId }) =>
            Effect.promise(async () => {
              const path = "/workspace/kept"
              const put = () => files("PUT", "/content", { path }, { body: Buffer.from("kept") })
              expect((await put()).status).toBe(204)
              const mounted = readFileSync("/proc/self/mounts", "utf8")
                .split("\n")
                .map((line) => line.split(" "))
                .find(([, folder]) => folder?.endsWith(`/${sandboxId}`))
              const [device, folder] = mounted as [string, string]
              execFileSync("mount", ["-o", "remount,errors=remount-ro", folder])
              writeFileSync(`/sys/fs/ext4/${basename(device)}/trigger_fs_error`, "a test")
              const edit = {
                expectedSha256: createHash("sha256").update("kept").digest("hex"),
                oldText: "k",
                newText: "K"
              }
              const tar = { "content-type": "application/x-tar" }
              const changes: Readonly<Record<string, () => Promise<Answer>>> = {
                put,
                edit: () => files("PATCH", "/content", { path }, { body: edit }),
                directory: () => files("POST", "/directory", { path: "/workspace/new" }, { body: {} }),
                rename: () => files("POST", "/rename", { path }, { body: { destination: "/workspace/other" } }),
                remove: () => files("DELETE", "", { path }),
                unpack: () =>
                  files(
                    "POST",
                    "/archive",
                    { path: "/workspace" },
                    { body: tape(entry({ name: "a" }, "a")), headers: tar }
                  )
              }
              for (const [name, change] of Object.entries(changes)) {
                const { status, json } = await change()
                expect([status, json?.code, json?.details], name).toEqual([503, "SERVICE_UNAVAILABLE", null])
                expect(json.message, name).toContain("Stop and start the Sandbox")
              }
              expect((await files("GET", "/content", { path })).bytes.toString()).toBe("kept")
              await send("POST", `/sandboxes/${sandboxId}/stop`)
              expect((await send("POST", `/sandboxes/${sandboxId}/start?wait=running`)).status).toBeLessThan(300)
              expect((await put()).status).toBe(204)
            })
          )
        )
      })
    }
  )

  describe.skipIf(process.getuid?.() !== 0)("a volume of 64 MiB (enforced as root)", () => {
    const small = TestService.layer(runtime, { ATOLL_VOLUME_BYTES: String(64 * 1024 * 1024) })
    layer(small, { excludeTestServices: true, timeout: 240_000 })("when it is full", (it) => {
      it.effect(
        "answers STORAGE_FULL, changes nothing, leaves nothing behind, and takes files again once there is room",
        () =>
          Effect.flatMap(TestService, ({ files }) =>
            Effect.promise(async () => {
              const piece = (letter: number) => Buffer.alloc(8 * 1024 * 1024, letter)
              const put = (name: string, letter: number) =>
                files("PUT", "/content", { path: `/workspace/${name}` }, { body: piece(letter) })
              const written: Array<string> = []
              for (;;) {
                const { status, json } = await put(`f${written.length}`, 65)
                if (status === 204) written.push(`f${written.length}`)
                else {
                  expect([status, json.code]).toEqual([413, "STORAGE_FULL"])
                  break
                }
                expect(written.length).toBeLessThan(9)
              }
              expect(written.length).toBeGreaterThan(2)
              expect((await put("f0", 66)).json?.code).toBe("STORAGE_FULL")
              expect((await files("GET", "/content", { path: "/workspace/f0" })).bytes.equals(piece(65))).toBe(true)
              const { entries } = (await files("GET", "/list", { path: "/workspace" })).json
              expect(
                entries
                  .map(({ name }: { name: string }) => name)
                  .filter((name: string) => name !== "lost+found")
                  .toSorted()
              ).toEqual(written)
              const archive = tape(entry({ name: "new" }, "new"), entry({ name: "f1" }, piece(66)))
              const tar = { "content-type": "application/x-tar" }
              const refused = await files("POST", "/archive", { path: "/workspace" }, { body: archive, headers: tar })
              expect([refused.status, refused.json.code, refused.json.details]).toEqual([
                409,
                "ARCHIVE_INCOMPLETE",
                { reason: "storage_full", entries: 1, bytes: 3, lastPath: "new" }
              ])
              expect((await files("GET", "/content", { path: "/workspace/f1" })).bytes.equals(piece(65))).toBe(true)
              expect((await files("DELETE", "", { path: "/workspace/f1" })).status).toBe(204)
              expect((await put("f0", 66)).status).toBe(204)
            })
          ),
        60_000
      )
    })
  })
})
