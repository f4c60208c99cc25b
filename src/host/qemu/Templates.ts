/** The templates that this process has made or found, one per shape. */
import { dirname } from "node:path"
import { Effect } from "effect"
import type { RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { attempt } from "../linux/attempt.ts"
import type { MachineShape } from "./machineArguments.ts"
import { noteImageUse } from "./removeUnused.ts"
import { buildTemplate, findTemplate, type Template, type TemplateHost, templateKey } from "./Template.ts"

/** Each takes some 130 MiB of disk; clients choose sizes, and so shapes. */
const SHAPES_MAX = 8

export class Templates {
  private readonly host: TemplateHost
  private readonly known = new Map<string, Effect.Effect<Template, RuntimeUnavailable>>()

  constructor(host: TemplateHost) {
    this.host = host
  }

  /** The same, but null where a boot in full costs the host less: no more templates are made once there are `SHAPES_MAX`. */
  forBoot(shape: MachineShape): Effect.Effect<Template | null, RuntimeUnavailable> {
    return Effect.suspend(() =>
      this.known.size < SHAPES_MAX || this.known.has(templateKey(this.host, shape))
        ? this.of(shape)
        : Effect.succeed(null)
    )
  }

  /** Provides the template of a shape, and makes it once for all concurrent callers. A failure goes to these callers; the next caller tries again. */
  of(shape: MachineShape): Effect.Effect<Template, RuntimeUnavailable> {
    const key = templateKey(this.host, shape)
    return Effect.suspend(() => {
      // Each start marks the image as used, also in a service that has run for long.
      void noteImageUse(dirname(this.host.image.rootDisk))
      const known = this.known.get(key)
      if (known !== undefined) return known
      const made = attempt("looking for a template", () => findTemplate(this.host, key)).pipe(
        Effect.flatMap((found) => (found === null ? buildTemplate(this.host, shape) : Effect.succeed(found))),
        Effect.tapError(() => Effect.sync(() => this.known.delete(key)))
      )
      return Effect.flatMap(Effect.cached(made), (cached) => {
        const raced = this.known.get(key)
        if (raced !== undefined) return raced
        this.known.set(key, cached)
        return cached
      })
    })
  }
}
