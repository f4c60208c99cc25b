/** The mistakes that no test can see, each with the reason. One that is killed fails the run: the list only shrinks. */
interface Equal {
  readonly id: string
  readonly why: string
}

export const equal: ReadonlyArray<Equal> = [
  {
    id: "of two deadlines only the first one has a timer",
    why: "The commit of a deadline that fired sets the timer of those that are left. Where it has no commit, the next sweep does."
  },
  {
    id: "an operation is reported as over before its output was read",
    why: "A page without bytes after its offset is at the end of its stream: the condition guards against a store that forgets this."
  }
]
