/** The mistakes that no test can see, each with the reason. One that is killed fails the run: the list only shrinks. */
interface Equal {
  readonly id: string
  readonly why: string
}

export const equal: ReadonlyArray<Equal> = [
  {
    id: "an operation is told as over before its output was read",
    why: "A page without bytes after its offset is at the end of its stream: the condition guards against a store that forgets this."
  }
]
