/** Reads Prometheus's text format, as far as `/metrics` writes it. */

export interface Family {
  readonly help: string
  readonly type: string
  /** Names and label sets, without values. */
  readonly series: ReadonlyArray<string>
}

/** The value of one series, named as in the text; undefined if there is none. */
export const sampleOf = (text: string, series: string): number | undefined => {
  const line = text.split("\n").find((one) => one.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length))
}

/** By name. */
export const families = (text: string): ReadonlyMap<string, Family> => {
  const found = new Map<string, { help: string; type: string; series: Array<string> }>()
  let help = ""
  let current: { help: string; type: string; series: Array<string> } | undefined
  for (const line of text.split("\n")) {
    const [, word, name, rest] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (word === "HELP") help = rest!
    else if (word === "TYPE") {
      current = { help, type: rest!, series: [] }
      found.set(name!, current)
      help = ""
    } else if (line !== "") current!.series.push(line.slice(0, line.lastIndexOf(" ")))
  }
  return found
}

/** The metrics of several processes, by name. */
export const united = (texts: ReadonlyArray<string>): ReadonlyMap<string, Family> => {
  const all = new Map<string, Family>()
  for (const [name, family] of texts.flatMap((text) => [...families(text)])) {
    const series = [...(all.get(name)?.series ?? []), ...family.series]
    all.set(name, { ...family, series: [...new Set(series)] })
  }
  return all
}
