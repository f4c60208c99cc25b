/**
 * Names and passwords for registries, as containers-auth.json(5) writes them: `{"auths": {"registry.example/team": {"auth": "base64 of user:password"}}}`.
 * A key is a registry, a namespace in it, or a repository; the most specific one wins. A key with a scheme, as Docker writes, is its host alone.
 *
 * Faults are sentences, without any value: a value may be a password.
 */

export interface RegistryLogin {
  readonly username: string
  readonly password: string
}

/** By key, as `keysOf` writes them. */
export type RegistryAuths = ReadonlyMap<string, RegistryLogin>

/** `message` has one sentence that names no file, such as "is not JSON". */
export class RegistryAuthsInvalid extends Error {}

const host = "[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?"
const keyForm = new RegExp(`^${host}(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$`)
const base64Form = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for.
const controlCharacter = /[\u0000-\u001f\u007f]/

/** Docker Hub has several names. */
const hubNames = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"])

/** @param text A registry, or what is below it, with the registry's name in lower case. */
const withOneHub = (text: string): string => {
  const [registry = "", ...path] = text.split("/")
  return [hubNames.has(registry) ? "docker.io" : registry, ...path].join("/")
}

/** Null: no registry's name begins it. */
const keyIn = (text: string): string | null => {
  const [, schemeless] = /^https?:\/\/([^/]*)/.exec(text) ?? []
  const [registry = "", ...path] = (schemeless ?? text).split("/")
  const key = [registry.toLowerCase(), ...path].join("/")
  return keyForm.test(key) ? withOneHub(key) : null
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** @param entry Its name in a sentence. */
const loginIn = (entry: string, value: unknown): RegistryLogin => {
  const refuse = (why: string): never => {
    throw new RegistryAuthsInvalid(`${entry} ${why}`)
  }
  if (!isRecord(value)) return refuse("is no object with an auth.")
  const { auth, identitytoken } = value
  if (identitytoken !== undefined) return refuse("has an identitytoken, which Atoll does not use: give a password.")
  if (typeof auth !== "string" || auth === "") {
    return refuse("has no auth: a login in a credential helper is not in the file. Write the base64 of user:password.")
  }
  if (!base64Form.test(auth)) return refuse("has an auth that is not base64.")
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.from(auth, "base64"))
  const at = text.indexOf(":")
  if (at <= 0 || at === text.length - 1) return refuse("has an auth that is not the base64 of user:password.")
  if (text.includes("\ufffd")) return refuse("has a name or a password that is not UTF-8.")
  if (controlCharacter.test(text)) {
    return refuse(
      "has a control character, such as a line break, in its name or password. printf '%s' user:password | base64 -w0 adds none."
    )
  }
  return { username: text.slice(0, at), password: text.slice(at + 1) }
}

/** Throws a RegistryAuthsInvalid. Members that it does not know are left out. */
export const registryAuthsIn = (text: string): RegistryAuths => {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    // Without the cause: that quotes the text.
    throw new RegistryAuthsInvalid("is not JSON.")
  }
  if (!isRecord(document) || !isRecord(document["auths"])) throw new RegistryAuthsInvalid("has no object auths.")
  if (isRecord(document["credHelpers"]) && Object.keys(document["credHelpers"]).length > 0) {
    throw new RegistryAuthsInvalid("has credHelpers, which Atoll does not run: write each login into auths.")
  }
  const found = new Map<string, RegistryLogin>()
  for (const [index, [name, value]] of Object.entries(document["auths"]).entries()) {
    const key = keyIn(name)
    // The name is not shown: a URL may have a password.
    if (key === null) {
      throw new RegistryAuthsInvalid(
        `has as key ${index + 1} of auths no registry or namespace, such as registry.example or registry.example/team.`
      )
    }
    const login = loginIn(`has an unusable entry: ${key}`, value)
    if (found.has(key)) throw new RegistryAuthsInvalid(`names ${key} twice.`)
    found.set(key, login)
  }
  return found
}

/** All keys that are for an image, the most specific one first. @param reference `host/path[:tag][@digest]` */
const keysOf = (reference: string): ReadonlyArray<string> => {
  const [registry = "", ...path] = reference
    .replace(/@.*$/, "")
    .replace(/:[^:/]*$/, "")
    .split("/")
  const repository = withOneHub([registry.toLowerCase(), ...path].join("/"))
  const [hub, name, ...more] = repository.split("/")
  const parts =
    hub === "docker.io" && name !== undefined && more.length === 0 ? [hub, "library", name] : repository.split("/")
  return parts.map((_, index) => parts.slice(0, parts.length - index).join("/"))
}

/** Null: the registry is asked without. */
export const loginFor = (auths: RegistryAuths, reference: string): RegistryLogin | null => {
  for (const key of keysOf(reference)) {
    const login = auths.get(key)
    if (login !== undefined) return login
  }
  return null
}
