/**
 * Each system error that a file call can meet: which are the caller's, which are the Sandbox's, and none is blamed
 * wrongly.
 */
import { constants } from "node:os"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ArchiveFault, archiveFaultFor } from "../../../src/agent/files/archive/ArchiveFault.ts"
import { FileRefusal, refusalFor } from "../../../src/agent/files/FileRefusal.ts"
import { inContract } from "../../../src/files/FileErrors.ts"
import { FileRefused } from "../../../src/runtime/Guest.ts"

/** As Node makes it: an error without a name in libuv comes with a number. */
const systemError = (errno: number, code: string, syscall = "open") =>
  Object.assign(new Error(`${code}: ${syscall} '/proc/self/fd/7/x'`), { errno: -errno, code, syscall })

const unnamed = { EBADMSG: 74, ESTALE: 116, EUCLEAN: 117, EDQUOT: 122, ENOMEDIUM: 123 }
const named = (name: keyof typeof constants.errno) => systemError(constants.errno[name], name)

const clients = {
  ENOENT: "NOT_FOUND",
  ENOTDIR: "NOT_A_DIRECTORY",
  EISDIR: "IS_A_DIRECTORY",
  EEXIST: "ALREADY_EXISTS",
  ENOTEMPTY: "DIRECTORY_NOT_EMPTY",
  ENOSPC: "STORAGE_FULL",
  EDQUOT: "STORAGE_FULL",
  EFBIG: "PAYLOAD_TOO_LARGE",
  ELOOP: "INVALID_PATH",
  ENAMETOOLONG: "INVALID_PATH",
  EACCES: "INVALID_PATH",
  EPERM: "INVALID_PATH",
  ETXTBSY: "INVALID_PATH",
  EBUSY: "INVALID_PATH",
  EXDEV: "INVALID_PATH",
  EINVAL: "INVALID_PATH",
  EILSEQ: "INVALID_PATH"
} as const

const sandboxs = {
  EROFS: "VOLUME_READ_ONLY",
  EIO: "VOLUME_FAILED",
  EUCLEAN: "VOLUME_FAILED",
  EBADMSG: "VOLUME_FAILED",
  ESTALE: "VOLUME_FAILED",
  ENODEV: "VOLUME_FAILED",
  ENXIO: "VOLUME_FAILED",
  ENOMEDIUM: "VOLUME_FAILED",
  ENOTCONN: "VOLUME_FAILED",
  ETIMEDOUT: "VOLUME_FAILED",
  ENOMEM: "NO_RESOURCES",
  ENOBUFS: "NO_RESOURCES",
  EMFILE: "NO_RESOURCES",
  ENFILE: "NO_RESOURCES",
  EAGAIN: "NO_RESOURCES"
} as const

/** Both forms, where libuv has no name. */
const errorsOf = (name: string): ReadonlyArray<Error> => {
  const number = unnamed[name as keyof typeof unnamed]
  return number === undefined
    ? [named(name as keyof typeof constants.errno)]
    : [systemError(number, `Unknown system error -${number}`), systemError(number, name)]
}

const told = (refusal: FileRefusal) =>
  Effect.runSync(
    Effect.flip(
      Effect.fail(new FileRefused({ code: refusal.code, message: refusal.message, details: refusal.details })).pipe(
        inContract(
          "IS_A_DIRECTORY",
          "ALREADY_EXISTS",
          "DIRECTORY_NOT_EMPTY",
          "STORAGE_FULL",
          "PAYLOAD_TOO_LARGE",
          "ARCHIVE_INCOMPLETE"
        )
      )
    )
  )

describe("a system error of a file call", () => {
  for (const [name, code] of Object.entries(clients))
    it(`${name} becomes ${code}`, () => {
      for (const error of errorsOf(name)) {
        const refusal = refusalFor(error)
        assert.instanceOf(refusal, FileRefusal)
        assert.deepInclude(refusal, { code })
        assert.strictEqual(told(refusal as FileRefusal)._tag, code)
        assert.instanceOf(archiveFaultFor(error), ArchiveFault)
      }
    })

  for (const [name, code] of Object.entries(sandboxs))
    it(`${name} becomes 503, and does not blame the caller`, () => {
      for (const error of errorsOf(name))
        for (const refusal of [refusalFor(error), archiveFaultFor(error)]) {
          assert.instanceOf(refusal, FileRefusal)
          assert.deepInclude(refusal, { code })
          const answer = told(refusal as FileRefusal)
          assert.strictEqual(answer._tag, "SERVICE_UNAVAILABLE")
          assert.notMatch(answer.message, /[Rr]emove|path|fd\//)
          if (code !== "NO_RESOURCES") assert.match(answer.message, /Stop and start/)
        }
    })

  it("for lack of room on the host's disk is the host's fault, and does not ask the caller to remove files", () => {
    for (const errno of ["ENOSPC", "EDQUOT"] as const)
      for (const syscall of ["fsync", "fdatasync"]) {
        const refusal = refusalFor(systemError(constants.errno[errno], errno, syscall)) as FileRefusal
        assert.strictEqual(refusal.code, "HOST_FULL")
        const answer = told(refusal)
        assert.strictEqual(answer._tag, "SERVICE_UNAVAILABLE")
        assert.notMatch(answer.message, /[Rr]emove/)
      }
  })

  it("is a defect where none of these fits", () => {
    for (const name of ["EFAULT", "EBADF", "ENOSYS"] as const) {
      const error = named(name)
      assert.strictEqual(refusalFor(error), error)
      assert.strictEqual(archiveFaultFor(error), error)
    }
  })
})
