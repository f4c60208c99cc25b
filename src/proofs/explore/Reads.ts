/** Records which fields of contexts, events and params are read: what nothing reads does not tell states apart. */
import { type AnyStateMachine, assign, createMachine } from "xstate"

type Fields = Readonly<Record<string, unknown>>
type Args = { readonly context: object; readonly event: { readonly type: string } }
type Implementation = (args: Args, params: unknown) => unknown

export class Reads {
  /** By kind, the fields of its context that were read. */
  readonly contexts = new Map<string, Set<string>>()
  /** By kind and type of event. */
  readonly events = new Map<string, Set<string>>()
  /** By kind and command, the params that outcomes read. */
  readonly params = new Map<string, Set<string>>()
  /** Fields that were read although contexts had been reduced to others: everything explored by then is void. */
  readonly missed = new Set<string>()
  /** Null: contexts are whole. */
  #kept: ReadonlyMap<string, ReadonlySet<string>> | null = null
  #keptParams: ReadonlyMap<string, ReadonlySet<string>> = new Map()

  /** From now on contexts have only what was read so far. */
  reduce(): void {
    this.#kept = copied(this.contexts)
    this.#keptParams = copied(this.params)
    this.missed.clear()
  }

  /** The part of a context that tells states apart, with its fields in a fixed order. */
  reduced(kind: string, context: Fields): Fields {
    if (this.#kept === null) return context
    const fields = [...(this.#kept.get(kind) ?? [])].sort()
    return Object.fromEntries(fields.filter((field) => field in context).map((field) => [field, context[field]]))
  }

  reducedParams(kind: string, command: string, params: Fields): Fields {
    if (this.#kept === null) return params
    const fields = [...(this.#keptParams.get(`${kind} ${command}`) ?? [])].sort()
    return Object.fromEntries(fields.filter((field) => field in params).map((field) => [field, params[field]]))
  }

  #note(of: Map<string, Set<string>>, kept: ReadonlyMap<string, ReadonlySet<string>>, key: string, field: string) {
    if (this.#kept !== null && kept.get(key)?.has(field) === true) return
    const known = of.get(key) ?? new Set()
    of.set(key, known.add(field))
    if (this.#kept !== null) this.missed.add(`${key}.${field}`)
  }

  /** The same params; each read is recorded. */
  paramsOf(kind: string, command: string, params: object): object {
    return recording(params, (field) => this.#note(this.params, this.#keptParams, `${kind} ${command}`, field))
  }

  /** The same context; each read is recorded. */
  context(kind: string, context: object): object {
    return recording(context, (field) => this.#note(this.contexts, this.#kept ?? this.contexts, kind, field))
  }

  #event(kind: string, event: Args["event"]): Args["event"] {
    const fields = this.events.get(`${kind} ${event.type}`) ?? new Set()
    this.events.set(`${kind} ${event.type}`, fields)
    return recording(event, (field) => fields.add(field)) as Args["event"]
  }

  /** The same machine, whose guards, actions and params are watched. XState itself copies contexts as a whole, and is not. */
  watched(machine: AnyStateMachine): AnyStateMachine {
    const kind = machine.id
    const watch =
      (implementation: Implementation): Implementation =>
      ({ context, event, ...rest }, params) =>
        implementation({ ...rest, context: this.context(kind, context), event: this.#event(kind, event) }, params)
    const { guards, actions, ...others } = machine.implementations
    return createMachine(
      paramsWatched(machine.config, watch) as never,
      {
        ...others,
        guards: mapped(guards, (guard) => watch(guard as Implementation)),
        actions: mapped(actions, (action) => watchedAction(action, watch))
      } as never
    )
  }
}

const copied = (of: ReadonlyMap<string, ReadonlySet<string>>) =>
  new Map([...of].map(([key, fields]) => [key, new Set(fields)] as const))

const recording = (target: object, note: (field: string) => void): object =>
  new Proxy(target, {
    get: (of, field, receiver) => {
      if (typeof field === "string") note(field)
      return Reflect.get(of, field, receiver)
    },
    has: (of, field) => {
      if (typeof field === "string") note(field)
      return Reflect.has(of, field)
    },
    ownKeys: (of) => {
      for (const field of Object.keys(of)) note(field)
      return Reflect.ownKeys(of)
    }
  })

type Watch = (implementation: Implementation) => Implementation

const mapped = <A>(of: Readonly<Record<string, A>>, change: (value: A) => unknown) =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, change(value)]))

const watchedAction = (action: unknown, watch: Watch): unknown => {
  const { type, assignment } = action as { readonly type?: string; readonly assignment?: Implementation | Fields }
  if (type !== "xstate.assign") return action
  if (typeof assignment === "function") return assign(watch(assignment) as never)
  return assign(
    mapped(assignment ?? {}, (value) => (typeof value === "function" ? watch(value as Implementation) : value)) as never
  )
}

const paramsWatched = (config: unknown, watch: Watch): unknown => {
  if (Array.isArray(config)) return config.map((one) => paramsWatched(one, watch))
  if (typeof config !== "object" || config === null) return config
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => [
      key,
      key === "params" && typeof value === "function"
        ? watch(value as Implementation)
        : key === "meta"
          ? value
          : paramsWatched(value, watch)
    ])
  )
}
