/**
 * The images of which machines start. A machine has its image as a read-only disk: a link in its own folder, so that the file stays as long as the
 * machine needs it, also while it sleeps.
 */
import { chmod, link, rm } from "node:fs/promises"
import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import type { SettingsShape } from "../../Config.ts"
import type { RuntimeRefused, RuntimeUnavailable, SandboxSpec } from "../../runtime/Runtime.ts"
import { HostImages, type ImageObstacle, pulling } from "../image/HostImages.ts"
import { attempt } from "../linux/attempt.ts"
import { saysDiskFull } from "../linux/diskRoom.ts"
import type { HostMutex } from "../linux/HostMutex.ts"
import { missingPackages } from "../linux/programs.ts"
import type { HostRoom } from "./HostRoom.ts"
import { recipe } from "./image/recipe.ts"
import type { QemuHost } from "./QemuHost.ts"
import type { SandboxFolder } from "./SandboxFolder.ts"

/** Null: this host can make a disk of an image. The guest's own kernel mounts it. */
export const diskImageObstacle = (): ImageObstacle | null => {
  const packages = missingPackages({ mksquashfs: "squashfs-tools" })
  return packages.length === 0
    ? null
    : { found: "No image can be unpacked.", mend: `apt-get install ${packages.join(" ")}` }
}

class DiskTaken extends Error {}

const isShortage = (cause: unknown): cause is Error =>
  cause instanceof DiskTaken || (cause instanceof Error && saysDiskFull(cause.message))

export interface MachineImagesOptions {
  readonly host: QemuHost
  readonly settings: SettingsShape
  readonly room: HostRoom
  readonly turns: HostMutex
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
}

export class MachineImages {
  readonly images: HostImages

  constructor({ host, settings, room, turns, run }: MachineImagesOptions) {
    this.images = new HostImages({
      root: host.root,
      turns,
      limits: { maxBytes: settings.imageBytesMax, registries: settings.imageRegistries },
      user: recipe.user,
      room: {
        take: (path, bytes) =>
          run(
            room.take(path, bytes).pipe(Effect.catchTag("NoRoom", ({ detail }) => Effect.fail(new DiskTaken(detail))))
          ),
        giveBack: (path) => room.giveBack(path)
      },
      isShortage,
      obstacle: async () => diskImageObstacle(),
      unsupported: publicText`This host runs no images: they need squashfs-tools.`,
      // Each guest has buildah, and its users may become root.
      buildObstacle: async () => null,
      unbuilt: publicText`This host builds no images.`,
      // Machines have links of their own.
      released: async () => {},
      run
    })
  }

  /**
   * The digest of the image that the Sandbox starts from, once it is here; null: it starts from none. Refused: it is to build, and cannot. An
   * interruption ends a pull.
   */
  present(spec: SandboxSpec): Effect.Effect<string | null, RuntimeRefused | RuntimeUnavailable> {
    const { image, builder } = spec
    if (image === undefined && builder === undefined) return Effect.succeed(null)
    return pulling(async (signal) => {
      await this.images.admitBuilder(spec)
      return image === undefined ? null : await this.images.present(image, signal)
    })
  }

  /** Gives the machine its disk. */
  link(folder: SandboxFolder, digest: string | undefined): Effect.Effect<void, RuntimeUnavailable> {
    const path = folder.file("image")
    return attempt("linking an image", async () => {
      await rm(path, { force: true })
      if (digest === undefined) return
      await this.images.whilePresent(digest, (stored) => link(stored, path))
      // QEMU gets an open file. Other users of this host may enter the folder.
      await chmod(path, 0o600)
    })
  }

  /** Removes what killed processes left unfinished. */
  readonly tidy: Effect.Effect<void> = Effect.suspend(() =>
    attempt("removing unfinished images", () => this.images.tidy())
  ).pipe(Effect.catch(({ message }) => Effect.logWarning(message)))
}
