import { chmod, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readRegistryAuths } from "../../../../src/platform/registryAuth/readRegistryAuths.ts"
import { loginFor } from "../../../../src/platform/registryAuth/registryAuths.ts"
import { testFolder } from "../../../support/testFolder.ts"

const text = JSON.stringify({ auths: { "registry.example": { auth: Buffer.from("robot:secret").toString("base64") } } })
const own = process.geteuid!()

/** Its sentence, after the setting and the path. */
const refusalOf = async (path: string, user = own): Promise<string> => {
  const message = await readRegistryAuths(path, user).then(
    () => "accepted",
    (cause: Error) => cause.message
  )
  const begin = `ATOLL_IMAGES_CREDENTIALS, ${path}, `
  assert.isTrue(message.startsWith(begin), message)
  return message.slice(begin.length)
}

describe("the file of logins for registries", () => {
  it.live("is read from a file that only its user may read, also behind a symbolic link", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      yield* Effect.promise(async () => {
        const path = join(folder, "auth.json")
        await writeFile(path, text, { mode: 0o600 })
        await symlink("auth.json", join(folder, "link"))
        for (const mode of [0o600, 0o400]) {
          await chmod(path, mode)
          for (const name of ["auth.json", "link"]) {
            const login = loginFor(await readRegistryAuths(join(folder, name)), "registry.example/tools:1")
            assert.deepStrictEqual(login, { username: "robot", password: "secret" })
          }
        }
      })
    })
  )

  it.live("is refused with what to do if others may read it, or if it is no such file", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      yield* Effect.promise(async () => {
        const path = join(folder, "auth.json")
        assert.strictEqual(await refusalOf(path), "does not exist. Correct the path, or unset it.")
        await writeFile(path, text, { mode: 0o600 })
        assert.include(await refusalOf(join(path, "below")), "does not exist")
        assert.strictEqual(await refusalOf(folder), "is not a regular file.")
        assert.strictEqual(
          await refusalOf(path, own + 1),
          `belongs to user id ${own}, and Atoll runs as ${own + 1}. Run: chown ${own + 1} ${path}`
        )
        for (const mode of [0o640, 0o604, 0o620, 0o601]) {
          await chmod(path, mode)
          assert.strictEqual(await refusalOf(path), `is open to other users of this machine. Run: chmod 600 ${path}`)
        }
        await chmod(path, 0o600)
        await symlink("loop", join(folder, "loop"))
        assert.include(await refusalOf(join(folder, "loop")), "is a loop of symbolic links.")
        await writeFile(path, "robot:secret")
        assert.strictEqual(await refusalOf(path), "is not JSON.")
        await writeFile(path, text.padEnd(256 * 1024))
        assert.strictEqual((await readRegistryAuths(path)).size, 1)
        await writeFile(path, text.padEnd(256 * 1024 + 1))
        assert.strictEqual(await refusalOf(path), "has more than 262144 bytes.")
      })
    })
  )
})
