/** Where the parts of an image come from: a registry, or an archive. */

export const MANIFEST_MAX_BYTES = 4 * 1024 ** 2

export interface ImageBlobs {
  /** The manifest or index, whose bytes have this digest; `type`: what the source calls it. Rejects with a RuntimeRefused or RuntimeUnavailable. */
  readonly manifest: (tagOrDigest: string) => Promise<{ bytes: Buffer; type: string; digest: string }>
  /** The caller verifies the bytes. */
  readonly blob: (digest: string) => Promise<AsyncIterable<Buffer>>
}
