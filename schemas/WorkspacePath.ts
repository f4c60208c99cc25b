/** @source contract.md "Identifier formats": File path */
import { Schema } from "effect"
import { pathMaxCharacters } from "./Limits.ts"
import { isCharactersBetween, isMatching, isPlainText } from "./Text.ts"

/** `/workspace`, then segments that are neither empty nor `.` nor `..`. */
export const WorkspacePath = Schema.String.check(
  isCharactersBetween(1, pathMaxCharacters),
  isPlainText,
  isMatching(/^\/workspace(?:\/(?!\.{1,2}(?:\/|$))[^/]+)*$/, {
    expected: "a path under /workspace without empty, . or .. segments"
  })
).annotate({
  identifier: "WorkspacePath",
  description: "/workspace, or a path below it without empty, . or .. segments.",
  examples: ["/workspace/src/main.ts"]
})
