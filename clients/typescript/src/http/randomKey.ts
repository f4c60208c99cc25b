/** Made once for a call, and kept over its retries: requests with one key are applied once. */
export const randomKey = (): string => crypto.randomUUID()
