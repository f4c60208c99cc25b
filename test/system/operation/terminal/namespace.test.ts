/** A shell in a namespace Sandbox, as a person uses it over the service's own port. */
import { readFileSync } from "node:fs"
import { assert, describe, layer } from "@effect/vitest"
import { Layer } from "effect"
import { collectGarbage } from "../../../support/collectGarbage.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { freshDriver, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { type Refusal, TerminalClient } from "../../../support/terminal/TerminalClient.ts"
import { endsWithItsConnection, followsItsUser, withSandbox } from "./shellContract.ts"

/** The most that the kernel holds of one TCP connection, in bytes: for its reader and for its writer. */
const ofAConnection = ["rmem", "wmem"]
  .map((which) => Number(readFileSync(`/proc/sys/net/ipv4/tcp_${which}`, "utf8").trim().split(/\s+/)[2]))
  .reduce((sum, most) => sum + most)

/**
 * The most output of a command whose reader has stopped. Between a service and a host only the window of its stream, a
 * mebibyte, is held; a fleet has two more connections in front, because its balancer reads ahead, too.
 */
const passesUnread = isOverAFleet ? 2 * ofAConnection + 8 * 1024 ** 2 : 24 * 1024 ** 2

/** Of one Sandbox. */
const pseudoTerminals = 64

const small = { ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2) }

describe.skipIf(skipped(unusable))("a terminal in a namespace", () => {
  layer(ServedAtoll.layer(freshDriver(small), small).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("has the requested size, follows its changes, turns Ctrl-C into SIGINT, and reports its exit", () =>
      withSandbox(followsItsUser)
    )

    it.effect("has the default size, carries bytes unchanged, and ends at Ctrl-D", () =>
      withSandbox(async (open) => {
        const client = await open("")
        client.type("stty size\r")
        await client.shows("24 80\r\n")
        const text = "grüße \u{1f30a} ".repeat(4000)
        client.type('stty raw -echo; echo rea""dy; head -c ')
        client.type(`${Buffer.byteLength(text)} | sha256sum; stty sane\r`)
        await client.shows("ready")
        client.type(text)
        const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", Buffer.from(text)))
        await client.shows(Buffer.from(digest).toString("hex"))
        // For a terminal between two prompts Ctrl-D is an empty input, which the shell never sees.
        await client.shows(/ -\s.*\$ $/s)
        client.type("\x04")
        assert.deepStrictEqual(await client.closing(), { code: 1000, reason: "" })
      })
    )

    it.effect("ends with its connection, with all that was started in it, and nothing of another one's", () =>
      withSandbox(endsWithItsConnection)
    )

    it.effect("waits for a pseudo-terminal that is being released, and is refused where none becomes free", () =>
      withSandbox(async (open, { send }, id, ask) => {
        if (!isRoot) return
        const echoes = async (client: TerminalClient) => {
          client.type("echo he''re\r")
          await client.shows("here\r\n")
        }
        const isRefused = ({ status, headers, json }: Refusal) => {
          assert.deepStrictEqual([status, json.code, headers["retry-after"]], [429, "RATE_LIMITED", "1"], json.message)
          assert.match(json.message, /no room for another terminal/)
        }
        const holder = await open()
        // With its own, all but one.
        const hold = `while (@them < ${pseudoTerminals - 2}) { my $it; sysopen($it, "/dev/ptmx", O_RDWR | O_NOCTTY) or die; push(@them, $it) }`
        holder.type(`perl -MFcntl -e '$| = 1; ${hold} print "he", "ld"; sleep 1000'\r`)
        await holder.shows("held")
        const left = async (typed: string) => {
          const last = await open()
          last.type(typed)
          await last.shows("left")
          await last.cut()
        }
        await left(`sh -c 'trap "" TERM; trap "touch hung-up; exit" HUP; echo le""ft; while :; do sleep 0.05; done'\r`)
        const next = await open()
        next.type("while ! [ -e hung-up ]; do sleep 0.05; done\r")
        await echoes(next)
        await next.cut()

        // Only KILL ends this one, two seconds later; the first to ask gets its pseudo-terminal.
        await left("trap '' HUP TERM; echo le''ft; exec sleep 1000\r")
        const found = await Promise.all([ask(), ask()])
        const lucky = found.filter((it) => it instanceof TerminalClient)
        assert.strictEqual(lucky.length, 1)
        await echoes(lucky[0]!)
        isRefused(found.find((it) => it !== lucky[0]) as Refusal)
        const waiting = open()
        holder.type("\x03")
        await holder.shows(/\^C.*\$ $/s)
        await echoes(await waiting)

        // Another program may have taken the free one: then the program that makes the terminal fails.
        holder.type(
          "mkdir bin; printf '#!/bin/sh\\necho no >&2; exit 1\\n' > bin/script; chmod +x bin/script; echo ma''de\r"
        )
        await holder.shows("made\r\n")
        const changed = await send("PATCH", `/api/v2/sandboxes/${id}`, {
          body: { env: { PATH: "/workspace/bin:/usr/bin:/bin" } }
        })
        assert.strictEqual(changed.status, 200)
        isRefused((await ask()) as Refusal)
      })
    )

    it.effect("is held back by a client that does not read, or pauses, and costs no memory meanwhile", () =>
      withSandbox(async (open, { residentBytes }) => {
        const held = () => {
          collectGarbage()
          return process.memoryUsage().external + process.memoryUsage().heapUsed
        }
        for (const how of ["unread", "paused"] as const) {
          const bytes = how === "unread" ? 4 * passesUnread : 96 * 1024 ** 2
          const client = await open()
          client.type(`stty raw; echo re""ady; head -c ${bytes} /dev/zero; exit\r`)
          await client.shows("ready")
          if (how === "unread") client.socket.pause()
          else client.tell({ type: "pause" })
          const before = held()
          const residentBefore = residentBytes()
          const look = await open()
          // Until it stops writing, or has ended.
          look.type(
            `w() { sed -n "s/^wchar: //p" "/proc/$(pgrep -xn head)/io"; }; a=-; while b=$(w); [ "$a" != "$b" ]; do a=$b; sleep 0.4; done 2>/dev/null; echo stal""led-$b-\r`
          )
          await look.shows(/stalled-\d*-/)
          const written = Number(/stalled-(\d*)-/.exec(look.output)![1])
          assert.isAbove(written, 0, how)
          assert.isBelow(written, how === "unread" ? passesUnread : bytes / 4, how)
          if (isOverAFleet) assert.isBelow(residentBytes() - residentBefore, bytes / 2, how)
          assert.isBelow(held() - before, 16 * 1024 ** 2, how)
          assert.isBelow(client.outputBytes, bytes / 4, how)
          await look.cut()
          if (how === "unread") {
            await client.cut()
            continue
          }
          client.tell({ type: "resume" })
          await client.until(() => client.closed !== null)
          assert.isAbove(client.outputBytes, bytes)
          assert.deepStrictEqual(client.told, [{ type: "exit", exitCode: 0, signal: null }])
        }
      })
    )
  })
})
