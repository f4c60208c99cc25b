/** Effect's cluster gives its locks one second, which a busy machine, or a process that was frozen, needs at times. */
const isOfSlowLocks = (line: string): boolean =>
  line.includes("Shard lock storage is unhealthy") && line.includes("TimeoutError")

/** The lines of a service's log that report an error, except that its locks were slow for a moment. */
export const logErrors = (log: string): ReadonlyArray<string> =>
  log.split("\n").filter((line) => line.includes('"level":"ERROR"') && !isOfSlowLocks(line))
