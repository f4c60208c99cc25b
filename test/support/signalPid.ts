/** Sends a signal to a process, unless it has ended since it was found. */
export const signalPid = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // It ended meanwhile.
  }
}
