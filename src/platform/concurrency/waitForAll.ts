/** Like Promise.all, but when one rejects, waits for the others before it does: nothing of them goes on while the caller cleans up. */
export const waitForAll = async <A extends ReadonlyArray<Promise<unknown>>>(...all: A) => {
  await Promise.allSettled(all)
  return await Promise.all(all)
}
