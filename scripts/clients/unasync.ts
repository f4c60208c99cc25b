/**
 * The synchronous layer of the Python library from its asynchronous one, word by word: `await` goes, `async with`
 * becomes `with`, `AsyncSandbox` becomes `Sandbox`. Code that differs otherwise is outside of both.
 */
const words: ReadonlyArray<readonly [RegExp, string]> = [
  [/^ *@opening\n/gm, ""],
  [/^from \.opening import opening\n/gm, ""],
  [/\basync (def|with|for)\b/g, "$1"],
  [/\bawait /g, ""],
  [/\bAwaitable, /g, ""],
  [/\bAwaitable\[([\w.]+)\]/g, "$1"],
  [/\bAsyncGenerator\[(.+), None\]/g, "Generator[$1, None, None]"],
  [/\bAsync(?=[A-Z])/g, ""],
  [/\bimport asyncio\n((?:import \w+\n)*?)(?:import time\n)?(?=\n|from)/g, "$1import time\n"],
  [/\basyncio\.sleep\b/g, "time.sleep"],
  [/\bhandle_async_request\b/g, "handle_request"],
  [/\b__a(enter|exit|iter|next)__\b/g, "__$1__"],
  [/\ba(close|read|iter_bytes|iter_raw)\b/g, "$1"]
]

/** `(await call()).field` needs its parentheses only for the `await`. */
const withoutParentheses = (source: string): string => {
  const begin = "(await "
  let text = source
  for (let at = text.indexOf(begin); at !== -1; at = text.indexOf(begin, at + 1)) {
    let end = at
    for (let open = 0; end < text.length; end++) {
      if (text[end] === "(") open++
      else if (text[end] === ")" && --open === 0) break
    }
    if (text[end + 1] === "." && !/[\w)\]]/.test(text[at - 1] ?? ""))
      text = text.slice(0, at) + text.slice(at + 1, end) + text.slice(end + 1)
  }
  return text
}

const sortedTypes = (source: string): string =>
  source.replace(
    /^from typing import ([\w, ]+)$/gm,
    (_, names: string) => `from typing import ${names.split(", ").sort().join(", ")}`
  )

export const unasync = (source: string): string =>
  sortedTypes(words.reduce((text, [pattern, word]) => text.replace(pattern, word), withoutParentheses(source)))
