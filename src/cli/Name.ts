/** Names of accounts and keys, bounded as the API's names are, and on one line: they stand in tables. */
import { Schema } from "effect"
import { nameMaxCharacters } from "../../schemas/Limits.ts"
import { isCharactersBetween, isPlainText, isShownName } from "../../schemas/Text.ts"

export const Name = Schema.String.check(isCharactersBetween(1, nameMaxCharacters), isPlainText, isShownName)
