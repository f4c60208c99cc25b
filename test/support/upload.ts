/** Content for `GuestFiles.write`, as a client would send it. */
import { Readable } from "node:stream"
import type { FileUpload } from "../../src/runtime/Guest.ts"

/** An upload whose pieces throw breaks off there. */
export const upload = (pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): FileUpload<"broken off"> => ({
  bytes: Readable.from(pieces, { objectMode: false }),
  broken: () => "broken off"
})
