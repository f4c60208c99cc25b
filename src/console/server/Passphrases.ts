/**
 * Passphrases as argon2id, in PHC string format, so that a stored one says how it is checked when the parameters have changed.
 *
 * One costs 19 MiB and some 30 ms of a core in libuv's pool. Two of its four threads at most do this, so that files and names never wait for
 * it, and few may wait: who guesses by the thousand is told to come back, and costs nobody else anything.
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
/** Of them, for addresses that have signed in before. */
const placesForKnown = 8
const busyRetryAfterSeconds = 2

/** The same letters however a keyboard composed them. */
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
    /** As it is stored. */
    readonly hash: (passphrase: string) => Effect.Effect<string, RateLimited>
    /**
     * @param stored Null: there is none. That takes as long as one that does not match.
     * @param isStranger It comes from an address that has not signed in before: a flood of these leaves places for the others.
     */
    readonly matches: (
      passphrase: string,
      stored: string | null,
      isStranger: boolean
    ) => Effect.Effect<boolean, RateLimited>
  }
>()("atoll/console/Passphrases") {
  static readonly layer = Layer.sync(Passphrases, () => {
    const places = Semaphore.makeUnsafe(atOnce)
    let inside = 0

    const inTurn = <A>(work: Effect.Effect<A>, placesLeft = 0): Effect.Effect<A, RateLimited> =>
      Effect.suspend(() => {
        if (inside >= atOnce + waitingMax - placesLeft) {
          return Effect.fail(new RateLimited({ details: { retryAfterSeconds: busyRetryAfterSeconds } }))
        }
        inside++
        // The thread works on when its caller has gone: its place is taken until it is done.
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

    /** Nobody's. */
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
