/** What a Sandbox can read about its host: no path of its data, no name, no user, no disk, no boot line. */
import { existsSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { hostname } from "node:os"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer, ManagedRuntime } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import {
  dataFolder,
  driverOn,
  isRoot,
  networkUnusable,
  skipped,
  unusable
} from "../../../support/host/namespace/TestHost.ts"
import { instanceOf } from "../../../support/host/namespace/traces.ts"
import { commandSpec, output, run } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

/**
 * Prints `path: secret` for each file, link and name below these folders that contains one of the secrets. It does not
 * look for the user in mount tables:
 * the kernel writes it there for each tmpfs of a user namespace.
 */
const search = `
import json, os, re, stat, sys
secrets, number = json.load(sys.stdin)
uid = re.compile(rb"(?<!\\d)%d(?!\\d)" % number)
seen = 0
def look(path, data):
  for s in secrets:
    if s.encode() in data: print(f"{path}: {s}")
  if uid.search(data) and os.path.basename(path) not in ("mountinfo", "mounts", "mountstats"): print(f"{path}: uid")
def read(path):
  try:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
  except OSError: return
  try:
    data = b""
    while len(data) < 1 << 22:
      piece = os.read(fd, 1 << 16)
      if not piece: break
      data += piece
    look(path, data)
  except OSError: pass
  finally: os.close(fd)
for top in ("/proc", "/sys", "/etc", "/dev", "/run", "/opt", "/var", "/tmp", "/workspace"):
  for folder, folders, names in os.walk(top):
    # One thread and one process show what all show.
    folders[:] = [f for f in folders if f not in ("task", "map_files", "pts")]
    for name in names + folders:
      path = os.path.join(folder, name)
      try: how = os.lstat(path).st_mode
      except OSError: continue
      look("name of " + path, os.fsencode(name))
      if stat.S_ISLNK(how):
        try: look("link " + path, os.fsencode(os.readlink(path)))
        except OSError: pass
      elif stat.S_ISREG(how) and name not in ("kmsg", "kcore", "kpagecount", "kpageflags", "kpagecgroup", "pagemap", "mem", "node", "clear_refs"):
        seen += 1
        read(path)
print("read", seen)
`

describe.skipIf(skipped(unusable) || !isRoot)("names of the host", () => {
  const folder = dataFolder()
  const host = ManagedRuntime.make(Layer.fresh(driverOn(folder)))
  const spec = sandboxSpec("reader", { networkEnabled: networkUnusable === null })
  const guest = Effect.flatMap(
    Effect.promise(() => host.runPromise(Runtime)),
    (it) => it.guest("reader", 1)
  )
  beforeAll(async () => {
    await host.runPromise(Effect.flatMap(Runtime, (it) => it.provision(spec)))
  })
  afterAll(async () => {
    await host.runPromise(Effect.flatMap(Runtime, (it) => it.destroy("reader")))
    await host.dispose()
    rmSync(folder, { recursive: true, force: true })
  })

  it.live("are in no file that a Sandbox can read", () =>
    Effect.gen(function* () {
      const { uid }: { readonly uid: number } = JSON.parse(
        readFileSync(`${folder}/runtime/namespace/reader/spec.json`, "utf8")
      )
      const machineId = existsSync("/etc/machine-id") ? [readFileSync("/etc/machine-id", "latin1").trim()] : []
      const secrets = [realpathSync(folder), "volume.img", instanceOf(folder), ...machineId]
      const name = hostname()
      const all = name.length > 3 ? [...secrets, name] : secrets
      const { stdout, stderr } = yield* run(
        yield* guest,
        commandSpec(["python3", "-c", search], { stdin: Buffer.from(JSON.stringify([all, uid])) })
      )
      const lines = stdout.trim().split("\n")
      assert.match(lines.pop()!, /^read \d{3,}$/, stderr)
      assert.deepStrictEqual(lines, [])
    })
  )

  it.live("are not in /proc's files about disks, boot and devices, which programs read as before", () =>
    Effect.gen(function* () {
      const masked = yield* output(
        yield* guest,
        "cat /proc/cmdline /proc/diskstats /proc/locks /proc/interrupts; tail -n +3 /proc/partitions; tail -n +2 /proc/swaps; ls -A /proc/fs /proc/bus | grep -v :"
      )
      assert.strictEqual(masked.trim(), "")
      const tried = yield* output(
        yield* guest,
        `cat /proc/self/mountinfo | cut -d ' ' -f 4,5,8,9; df -h /workspace /tmp > /dev/null && free > /dev/null && ps -e > /dev/null && uptime > /dev/null && echo programs run
/opt/atoll/node -e 'const os = require("node:os"); if (!(os.totalmem() > 0 && os.cpus().length > 0 && os.loadavg()[0] >= 0 && os.uptime() > 0)) throw 1; process.report.getReport(); require("node:fs").statfsSync("/")' && echo node runs
python3 -c 'import os, resource, multiprocessing; open("/proc/self/maps").read(); print("python runs", multiprocessing.cpu_count() > 0)'`
      )
      assert.include(tried, "programs run\nnode runs\npython runs True")
      // By its path within the mount, not by the host's.
      assert.match(tried, /^\/etc-\w+ \/etc tmpfs/m)
      assert.match(tried, /^\/workspace \/workspace ext4 \/dev\/loop\d+$/m)
    })
  )
})
