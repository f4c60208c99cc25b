/** What is told while a backup or a restore goes on: bytes of `what` that are done, of all of them. */
export type Progress = (what: string, done: number, all: number) => void
