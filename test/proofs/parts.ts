/** The parts of `npm run prove`: each a program that takes `--seconds`, and ends with 1 if it found a violation. */
export interface Part {
  readonly name: string
  readonly sentence: string
  readonly command: ReadonlyArray<string>
  /** Of the time, relative to the others. */
  readonly share: number
}

export const parts: ReadonlyArray<Part> = [
  {
    name: "explore",
    sentence: "every path through the products of the machines",
    command: ["test/proofs/main.ts"],
    share: 3
  },
  {
    name: "mutants",
    sentence: "single changes of the machines, which must be found",
    command: ["test/proofs/mutants/main.ts"],
    share: 2
  },
  {
    name: "sources",
    sentence: "named mistakes in the journal, the mailbox, the leases and the output, which their suites must find",
    command: ["test/proofs/mutants/sources/main.ts"],
    share: 6
  },
  {
    name: "crash",
    sentence: "a crash at every effect",
    command: ["test/system/crash/sweep.ts"],
    share: 4
  },
  {
    name: "lose",
    sentence: "the database's answer lost at every commit",
    command: ["test/system/crash/sweep.ts", "--strike", "lose"],
    share: 2
  },
  {
    name: "freeze",
    sentence: "a service frozen at every effect, and woken beside the next one",
    command: ["test/system/crash/sweep.ts", "--strike", "freeze", "--second", "some"],
    share: 3
  },
  {
    name: "machines",
    sentence: "the service killed at every effect of its drivers, with real machines",
    command: ["test/system/host/kills.ts"],
    share: 2
  },
  {
    name: "linear",
    sentence: "clients of a service that is killed, frozen and cut off from its database",
    command: ["test/system/linear/main.ts"],
    share: 2
  },
  {
    name: "cluster",
    sentence: "clients of several services on one database",
    command: ["test/system/linear/main.ts", "--services", "3"],
    share: 2
  },
  {
    name: "fleet",
    sentence: "clients of a fleet whose services and hosts are killed and frozen",
    command: ["test/system/linear/main.ts", "--hosts", "2"],
    share: 2
  }
]
