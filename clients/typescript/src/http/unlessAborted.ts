/** A promise's value, or the signal's reason as soon as that is aborted; the promise's work goes on. */
export const unlessAborted = <A>(wanted: Promise<A>, signal: AbortSignal | undefined): Promise<A> => {
  if (signal === undefined) return wanted
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener("abort", abort, { once: true })
    wanted.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort))
  })
}
