/** The body of an upload: passes it on, and remembers what it was. */
import { createHash, hash } from "node:crypto"
import { Effect } from "effect"
import { InvalidRequest, PayloadTooLarge } from "../../schemas/Errors.ts"

export const cutOff = new InvalidRequest({
  details: { issues: [{ path: [], message: "The body ended before its end. Send the archive again." }] }
})

export class UploadedBody {
  readonly #pieces: AsyncIterable<Uint8Array>
  readonly #hash = createHash("sha256")
  /** Of all bytes; null: more may come. */
  #digest: string | null = null
  broke = false

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces
  }

  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const piece of this.#pieces) {
        this.#hash.update(piece)
        yield piece
      }
    } catch (cause) {
      this.broke = true
      throw cause
    }
  }

  /** Only its digest is needed: the key has its image. */
  skip(maxBytes: number): Effect.Effect<void, InvalidRequest | PayloadTooLarge> {
    return Effect.tryPromise({
      try: async () => {
        let bytes = 0
        for await (const piece of this.read()) {
          bytes += piece.length
          if (bytes > maxBytes) throw new PayloadTooLarge({ details: { limitBytes: maxBytes } })
        }
      },
      catch: (cause) => (cause instanceof PayloadTooLarge ? cause : cutOff)
    })
  }

  /** The same request says the same of the image and sends the same bytes. */
  fingerprint(said: ReadonlyArray<unknown>): string {
    this.#digest ??= this.#hash.digest("hex")
    return hash("sha256", JSON.stringify([...said, this.#digest]), "hex")
  }
}
