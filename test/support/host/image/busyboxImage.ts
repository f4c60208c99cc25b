/** The files of small images, whose only program is busybox. */
import { readFileSync } from "node:fs"
import type { LayerEntry } from "./TestRegistry.ts"

export const busybox = "/bin/busybox"

/** A program for images without a shell: busybox under the name of one of its commands. */
export const program = (name: string): LayerEntry => ({ name, content: readFileSync(busybox), mode: 0o755 })

export const withShell: ReadonlyArray<LayerEntry> = [
  program("bin/busybox"),
  ...["sh", "cat", "head", "id", "ls", "sleep", "stty", "tr", "wc"].map((name) => ({
    name: `bin/${name}`,
    type: "2" as const,
    target: "busybox"
  })),
  { name: "etc/passwd", content: "root:x:0:0::/root:/bin/sh\n" },
  { name: "greeting", content: "hello\n" },
  // A host that runs programs of an image would run these.
  { name: "bin/mount", content: "#!/bin/sh\necho run as $(id -u) > /tmp/mount-ran\n", mode: 0o755 },
  { name: "usr/bin/mount", content: "#!/bin/sh\necho run as $(id -u) > /tmp/mount-ran\n", mode: 0o755 }
]
