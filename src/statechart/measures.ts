/** Text sizes in SVG user units, for the layout and the drawing. */
export const measures = {
  margin: 24,
  /** One row of text: events, guards, commands. */
  row: { fontSize: 12, height: 16, baseline: 12 },
  state: { fontSize: 14, nameHeight: 20, ruleHeight: 8, minWidth: 100, paddingX: 14, paddingY: 8, radius: 9 },
  label: { paddingX: 6, paddingY: 3, radius: 5 },
  dot: 6
} as const
