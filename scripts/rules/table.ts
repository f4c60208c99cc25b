/** Every rule of the API, in the order of docs/rules.md. */
import type { Section } from "./Rule.ts"
import { access } from "./table/access.ts"
import { commands } from "./table/commands.ts"
import { console } from "./table/console.ts"
import { errors } from "./table/errors.ts"
import { files } from "./table/files.ts"
import { general } from "./table/general.ts"
import { images } from "./table/images.ts"
import { keys } from "./table/keys.ts"
import { money } from "./table/money.ts"
import { observe } from "./table/observe.ts"
import { sandboxes } from "./table/sandboxes.ts"
import { snapshots } from "./table/snapshots.ts"
import { versions } from "./table/versions.ts"
import { workspaces } from "./table/workspaces.ts"

export const table: ReadonlyArray<Section> = [
  general,
  errors,
  keys,
  workspaces,
  sandboxes,
  snapshots,
  images,
  commands,
  files,
  access,
  observe,
  money,
  console,
  versions
]
