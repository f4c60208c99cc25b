/** The words behind `npm run bench --`. */
export interface BenchArguments {
  /** The benchmarks to run; all if none is named. */
  readonly names: ReadonlyArray<string>
  /** Where the results are written. */
  readonly save: string | null
  /** An earlier run to compare with. */
  readonly compare: string | null
}

const options = ["--save", "--compare"] as const

/** @returns A sentence if a word is refused. */
export const readArguments = (words: ReadonlyArray<string>, all: ReadonlyArray<string>): BenchArguments | string => {
  const usage = `The benchmarks are ${all.join(", ")}; the options are --save FILE and --compare FILE.`
  const names = new Set<string>()
  const files = new Map<string, string>()
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    const option = options.find((it) => it === word)
    if (option !== undefined) {
      const file = words[++at]
      if (file === undefined || file.startsWith("-")) return `${option} needs a file. ${usage}`
      if (files.has(option)) return `${option} stands twice. ${usage}`
      files.set(option, file)
    } else if (word.startsWith("-")) return `There is no option ${word}. ${usage}`
    else if (!all.includes(word)) return `There is no benchmark ${word}. ${usage}`
    else names.add(word)
  }
  return {
    names: names.size > 0 ? [...names] : all,
    save: files.get("--save") ?? null,
    compare: files.get("--compare") ?? null
  }
}
