/** Reports the progress of a backup or restore: `done` of `all` bytes of `what`. */
export type Progress = (what: string, done: number, all: number) => void
