/**
 * How wide text is, without a browser: the same numbers on every machine.
 *
 * Names and labels are set in monospaced fonts. Those of the stack (`fontStack` in src/statechart/svg.ts) advance by 0.55 em (Consolas) to 0.61 em
 * (Menlo, DejaVu Sans Mono), bold ones as much; the widest counts, so that text is never wider than its box.
 */
const advance = 0.61

/** In user units, rounded up to a whole one. */
export const textWidth = (text: string, fontSize: number): number => Math.ceil([...text].length * fontSize * advance)
