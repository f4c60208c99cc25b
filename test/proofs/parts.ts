/** The parts of `npm run prove`: each a program that takes `--seconds`, and ends with 1 if it found a violation. */
export interface Part {
  readonly name: string
  readonly sentence: string
  readonly program: string
  /** Of the time, relative to the others. */
  readonly share: number
}

export const parts: ReadonlyArray<Part> = [
  {
    name: "explore",
    sentence: "every path through the products of the machines",
    program: "test/proofs/main.ts",
    share: 3
  }
]
