/** Bounds work that should end by itself, and tells what it waits for if it does not. */
export const orStuck = async <A>(
  work: Promise<A>,
  afterMs: number,
  waiting: () => Promise<ReadonlyArray<string>>
): Promise<A> => {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () =>
      void waiting().then(
        (found) => reject(new Error([`It is stuck after ${afterMs} ms.`, ...found].join("\n"))),
        (cause) => reject(new Error(`It is stuck after ${afterMs} ms.`, { cause }))
      ),
    afterMs
  )
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
