/** All mistakes, those that were found by hand first, and those that no test can see. */
import { ofFindings } from "./ofFindings.ts"
import { ofFold } from "./ofFold.ts"
import { ofJournal } from "./ofJournal.ts"
import { ofLeases } from "./ofLeases.ts"
import { ofMailbox } from "./ofMailbox.ts"
import { ofOutput } from "./ofOutput.ts"
import type { TextMutant } from "./TextMutant.ts"

export const textMutants: ReadonlyArray<TextMutant> = [
  ...ofFindings,
  ...ofJournal,
  ...ofMailbox,
  ...ofLeases,
  ...ofOutput,
  ...ofFold
]
