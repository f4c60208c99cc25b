/** What the operator reads where the embedded Postgres does not start, by its log. */
import { assert, describe, it } from "vitest"
import { serverStartFault } from "../../../../src/ops/postgres/serverStartFault.ts"

const home = "/data/postgres"

/** As the server writes it, with what comes before it. */
const logOf = (level: string, text: string) =>
  [
    "2026-11-26 05:10:11.120 UTC [71] LOG:  starting PostgreSQL 18.4 on x86_64-pc-linux-gnu, compiled by gcc, 64-bit",
    '2026-11-26 05:10:11.121 UTC [71] LOG:  listening on Unix socket "/data/postgres/socket/.s.PGSQL.5432"',
    `2026-11-26 05:10:11.130 UTC [71] ${level}:  ${text}`,
    "2026-11-26 05:10:11.131 UTC [71] LOG:  database system is shut down",
    ""
  ].join("\n")

const sentence = (text: string, level = "FATAL") => serverStartFault(home, logOf(level, text), 26).message

const segment = 'shared memory segment "/PostgreSQL.3127450962"'

describe("an embedded Postgres that does not start", () => {
  it("names /dev/shm and its mode where its shared memory is closed to its user", () => {
    for (const reason of ["Permission denied", "Operation not permitted"]) {
      const said = sentence(`could not open ${segment}: ${reason}`)
      assert.match(said, /^\/dev\/shm, .* is not writable by user id 26\. .*chmod 1777 \/dev\/shm.*tmpfs/)
      assert.notInclude(said, "data folder")
    }
  })

  it("names /dev/shm where its shared memory has no room", () => {
    const said = sentence(`could not resize ${segment} to 1048576 bytes: No space left on device`)
    assert.match(said, /^\/dev\/shm, .* is full\. .*--shm-size/)
    assert.notInclude(said, "disk")
  })

  it("names /dev/shm and the reason where its shared memory cannot be there", () => {
    for (const reason of ["No such file or directory", "Read-only file system", "Function not implemented"]) {
      assert.match(
        sentence(`could not open ${segment}: ${reason}`),
        new RegExp(`in /dev/shm: ${reason}\\. Mount a tmpfs there \\(mount -t tmpfs -o mode=1777 tmpfs /dev/shm\\)\\.$`)
      )
    }
  })

  it("names the data folder where a file of it is closed or has no room, and else says what the server said", () => {
    assert.match(
      sentence('could not open file "global/pg_control": Permission denied'),
      /^The data folder \/data\/postgres is not writable/
    )
    assert.match(
      sentence('could not write to file "pg_wal/xlogtemp.71": No space left on device', "PANIC"),
      /^The disk of \/data\/postgres is full/
    )
    assert.match(
      sentence("could not map anonymous shared memory: Cannot allocate memory"),
      /It said: .*FATAL: .*anonymous/
    )
    assert.match(serverStartFault(home, "", 26).message, /It said: nothing/)
  })
})
