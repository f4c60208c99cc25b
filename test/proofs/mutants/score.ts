/** Runs the killers over the mutants of a machine, cheapest first, and says who killed what. */
import type { AnyStateMachine } from "xstate"
import { killByExploration } from "./killers/exploration.ts"
import { killByLives, livesOf } from "./killers/histories.ts"
import { TableKiller } from "./killers/table.ts"
import { killByWalk } from "./killers/walk.ts"
import type { Mutant } from "./Mutant.ts"
import type { Subject } from "./mutantsOf.ts"

export const layers = ["table", "histories", "walk", "exploration"] as const
export type Layer = (typeof layers)[number]

export const isLayer = (name: string): name is Layer => (layers as ReadonlyArray<string>).includes(name)

export interface Verdict {
  readonly mutant: Mutant
  /** Null: it survived. */
  readonly killer: Layer | null
  /** What gave it away. */
  readonly by: string | null
}

interface Options {
  /** Killers that are left out. */
  readonly without?: ReadonlyArray<Layer>
  /** Each so manieth mutant. */
  readonly every?: number
  /** For each scope. */
  readonly exploreSeconds?: number
}

type Killers = Readonly<
  Record<Layer, (made: AnyStateMachine, mutant: Mutant) => string | null | Promise<string | null>>
>

const killersOf = ({ decisions, source }: Subject, exploreSeconds: number): Killers => {
  const table = new TableKiller(decisions)
  const lives = livesOf(source.machine.id)
  return {
    table: (made, mutant) => table.kill(made, mutant),
    histories: (made) => killByLives(lives, made),
    walk: (made) => killByWalk(decisions, made),
    exploration: (made) => killByExploration(made, exploreSeconds)
  }
}

/** A mutant that throws has failed. */
const caught = async (run: () => Promise<string | null>): Promise<string | null> => {
  try {
    return await run()
  } catch (error) {
    return `it throws: ${error instanceof Error ? error.message : String(error)}`
  }
}

export const mutantsIn = ({ mutants }: Subject, every = 1): ReadonlyArray<Mutant> =>
  mutants.filter((_, index) => index % every === 0)

export async function* verdictsOf(
  subject: Subject,
  { without = [], every = 1, exploreSeconds = 1 }: Options = {}
): AsyncGenerator<Verdict> {
  const killers = killersOf(subject, exploreSeconds)
  const asked = layers.filter((layer) => !without.includes(layer))
  for (const mutant of mutantsIn(subject, every)) {
    let verdict: Verdict = { mutant, killer: null, by: null }
    for (const layer of asked) {
      const by = await caught(async () => killers[layer](await mutant.make(), mutant))
      if (by === null) continue
      verdict = { mutant, killer: layer, by }
      break
    }
    yield verdict
    // Ctrl-C is heard.
    await new Promise(setImmediate)
  }
}

const share = (part: number, all: number) => `${((100 * part) / Math.max(1, all)).toFixed(1)} %`

/** One line: how many there were, and who killed them. */
export const scoreLine = (name: string, verdicts: ReadonlyArray<Verdict>): string => {
  const killed = layers.map((layer) => [layer, verdicts.filter(({ killer }) => killer === layer).length] as const)
  const survivors = verdicts.filter(({ killer }) => killer === null).length
  const all = verdicts.length
  return [
    `${name}: ${all} mutants, ${all - survivors} killed (${share(all - survivors, all)})`,
    ...killed.map(([layer, count]) => `${layer} ${count}`),
    `survivors ${survivors}`
  ].join(", ")
}

/** What is wrong with the list of equal mutants, as far as these verdicts show it. */
export const faultsOfList = (verdicts: ReadonlyArray<Verdict>, listed: ReadonlySet<string>): ReadonlyArray<string> =>
  verdicts.flatMap(({ mutant: { id }, killer, by }) => {
    if (killer === null) return listed.has(id) ? [] : [`No test kills "${id}".`]
    return listed.has(id) ? [`"${id}" is listed as equal, and is killed by ${killer}: ${by}.`] : []
  })

/** Ids that no mutant of these machines has. */
export const unknownIds = (subjects: ReadonlyArray<Subject>, listed: ReadonlySet<string>): ReadonlyArray<string> => {
  const known = new Set(subjects.flatMap(({ mutants }) => mutants.map(({ id }) => id)))
  const names = new Set(subjects.map(({ source }) => source.machine.id))
  return [...listed].filter((id) => names.has(id.split(" ")[0]!) && !known.has(id))
}
