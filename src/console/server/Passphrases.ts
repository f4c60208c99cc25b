/**
 * Passphrases as argon2id, in the PHC string format: each stored hash names its parameters, so they can change.
 *
 * A hash takes 19 MiB and about 30 ms of a core in libuv's pool. At most two of its four threads compute hashes, so that file and DNS calls never
 * wait for them, and only a few may wait. A client that guesses by the thousand gets 429, and slows down no other.
 *
 * @source RFC 9106; OWASP Password Storage Cheat Sheet: argon2id with 19 MiB, 2 passes, 1 lane; the PHC string format specification
 */
import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer, Semaphore } from "effect"
import { RateLimited } from "../../../schemas/Errors.ts"

const memoryKib = 19_456
const passes = 2
const lanes = 1
const saltBytes = 16
const tagBytes = 32

const atOnce = 2
const waitingMax = 32
/** Of those, reserved for addresses that have signed in before. */
const placesForKnown = 8
const busyRetryAfterSeconds = 2

/** The same bytes for all Unicode compositions of the same letters. */
const bytesOf = (passphrase: string): Buffer => Buffer.from(passphrase.normalize("NFKC"))

const derive = (parameters: Argon2Parameters): Effect.Effect<Buffer> =>
  Effect.callback((resume) => {
    argon2("argon2id", parameters, (error, tag) => resume(error === null ? Effect.succeed(tag) : Effect.die(error)))
  })

const base64 = (bytes: Buffer): string => bytes.toString("base64").replace(/=+$/, "")

const phc = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([\w+/]{16,86})\$([\w+/]{16,86})$/

const encode = (salt: Buffer, tag: Buffer): string =>
  `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${base64(salt)}$${base64(tag)}`

export class Passphrases extends Context.Service<
  Passphrases,
  {
    /** The stored form. */
    readonly hash: (passphrase: string) => Effect.Effect<string, RateLimited>
    /**
     * @param stored Null: no passphrase. The check takes the same time as a wrong one.
     * @param isStranger The address has not signed in before: a flood of those leaves places for the others.
     */
    readonly matches: (
      passphrase: string,
      stored: string | null,
      isStranger: boolean
    ) => Effect.Effect<boolean, RateLimited>
  }
>()("atoll/console/server/Passphrases") {
  static readonly layer = Layer.sync(Passphrases, () => {
    const places = Semaphore.makeUnsafe(atOnce)
    let inside = 0

    const inTurn = <A>(work: Effect.Effect<A>, placesLeft = 0): Effect.Effect<A, RateLimited> =>
      Effect.suspend(() => {
        if (inside >= atOnce + waitingMax - placesLeft) {
          return Effect.fail(new RateLimited({ details: { retryAfterSeconds: busyRetryAfterSeconds } }))
        }
        inside++
        // The thread continues even if its caller is gone, so the place stays taken until it ends.
        return Effect.ensuring(
          places.withPermit(Effect.uninterruptible(work)),
          Effect.sync(() => void inside--)
        )
      })

    const hash = (passphrase: string) => {
      const salt = randomBytes(saltBytes)
      return Effect.map(
        inTurn(
          derive({
            message: bytesOf(passphrase),
            nonce: salt,
            memory: memoryKib,
            passes,
            parallelism: lanes,
            tagLength: tagBytes
          })
        ),
        (tag) => encode(salt, tag)
      )
    }

    /** A hash for accounts that do not exist. */
    const decoy = encode(randomBytes(saltBytes), randomBytes(tagBytes))

    const matches = (passphrase: string, stored: string | null, isStranger: boolean) => {
      const found = phc.exec(stored ?? decoy)
      if (found === null) return Effect.die(new Error("A stored passphrase is not in PHC string format."))
      const [, memory, passesThen, lanesThen, salt, tag] = found
      const expected = Buffer.from(tag!, "base64")
      return Effect.map(
        inTurn(
          derive({
            message: bytesOf(passphrase),
            nonce: Buffer.from(salt!, "base64"),
            memory: Number(memory),
            passes: Number(passesThen),
            parallelism: Number(lanesThen),
            tagLength: expected.length
          }),
          isStranger ? placesForKnown : 0
        ),
        (computed) => timingSafeEqual(computed, expected) && stored !== null
      )
    }

    return { hash, matches }
  })
}
