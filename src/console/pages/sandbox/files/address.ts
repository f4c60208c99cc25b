/** The path of the shown file is in the page's address, so that links and the browser's back button work. */

export const root = "/workspace"

export interface Place {
  readonly path: string
  readonly isEdited: boolean
}

/** @param query With its `?`, or empty. */
export const placeOf = (query: string): Place => {
  const given = new URLSearchParams(query)
  return { path: given.get("path") ?? root, isEdited: given.has("edit") }
}

/** An address below /console. */
export const addressOf = (sandboxId: string, { path, isEdited }: Place): string => {
  const given = new URLSearchParams()
  if (path !== root) given.set("path", path)
  if (isEdited) given.set("edit", "1")
  return `/sandboxes/${sandboxId}/files${given.size === 0 ? "" : `?${given}`}`
}

/** @param call The API's call: `content`, `stat`; empty: the path itself. */
export const apiOf = (
  sandboxId: string,
  call: string,
  path: string,
  more: Readonly<Record<string, string | number>> = {}
): string => {
  const given = new URLSearchParams({ path })
  for (const [name, value] of Object.entries(more)) given.set(name, String(value))
  return `/api/v2/sandboxes/${sandboxId}/files${call === "" ? "" : `/${call}`}?${given}`
}

export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

/** For /workspace: /workspace. */
export const folderOf = (path: string): string => (path === root ? root : path.slice(0, path.lastIndexOf("/")))

export const within = (folder: string, name: string): string => `${folder}/${name}`

/** Each folder from /workspace down, and the path itself. */
export const wayTo = (path: string): ReadonlyArray<string> => {
  const way: Array<string> = []
  for (let at = path; at.startsWith(`${root}/`); at = folderOf(at)) way.unshift(at)
  return [root, ...way]
}

/** Checks a name before the request, by the service's rules; null: valid. */
export const faultOfName = (name: string): string | null => {
  if (name === "") return "A name has at least one character."
  if (name === "." || name === "..") return `“${name}” is a reserved name.`
  if (name.includes("/")) return "A name cannot contain /. To move a file, change its folder."
  return null
}
