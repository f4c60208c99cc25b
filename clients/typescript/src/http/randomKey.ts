/** Made once for a call, and kept over its repetitions: what is done twice under it is done once. */
export const randomKey = (): string => crypto.randomUUID()
