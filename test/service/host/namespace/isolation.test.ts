/** Own process: its attackers load the machine, and it counts their leftovers. */
/** Attempts to escape from a Sandbox or harm others. Each must fail, and leave Sandbox and host well. */

import { createSocket } from "node:dgram"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { networkInterfaces, tmpdir } from "node:os"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, ManagedRuntime, Stream } from "effect"
import type { Guest } from "../../../../src/runtime/Guest.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { cloudServices } from "../../../support/host/linux/specialRanges.ts"
import { freshDriver, isRoot, networkUnusable, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { commandSpec, eventually, gather, output, run, shell } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { upload } from "../../../support/upload.ts"

const MiB = 1024 ** 2
const SECRET = `secret-${process.pid}-${Date.now()}`
const ABSTRACT = `\0atoll-isolation-${process.pid}`

/** Runs Python in the guest; returns its output. */
const python = (guest: Guest, code: string) =>
  Effect.map(run(guest, commandSpec(["python3", "-c", code])), (ended) => `${ended.stdout}${ended.stderr}`.trim())

/** Makes a system call by number and prints the errno it gave, 0 if it succeeded. */
const SYSCALL = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(*a):
    ctypes.set_errno(0)
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return ctypes.get_errno() if r == -1 else 0
`
const EPERM = 1

describe.skipIf(skipped(unusable))("isolation of namespaces", () => {
  const host = ManagedRuntime.make(freshDriver({ ATOLL_SANDBOX_PROCESSES: "200" }))
  const folder = mkdtempSync(join(tmpdir(), "atoll-secret-"))
  const secretFile = join(folder, "secret")
  let tcp: Server
  let abstract: Server
  let hostPort = 0

  const driver = Effect.promise(() => host.runPromise(Runtime))
  const guestOf = (sandboxId: string) => Effect.flatMap(driver, (it) => it.guest(sandboxId, 1))
  const attempt = (title: string, body: (guest: Guest) => Effect.Effect<unknown, unknown>, timeout = 240_000) =>
    it.live(title, () => Effect.flatMap(guestOf("inmate"), body), timeout)

  beforeAll(async () => {
    writeFileSync(secretFile, SECRET, { mode: 0o644 })
    process.env["ATOLL_ISOLATION_SECRET"] = SECRET
    tcp = createServer((socket) => socket.end(SECRET))
    await new Promise<void>((resolve) => tcp.listen(0, "0.0.0.0", resolve))
    hostPort = (tcp.address() as { port: number }).port
    abstract = createServer((socket) => socket.end(SECRET))
    await new Promise<void>((resolve) => abstract.listen(ABSTRACT, resolve))
    await host.runPromise(
      Effect.gen(function* () {
        const it = yield* Runtime
        yield* it.provision(sandboxSpec("inmate"))
        yield* it.provision(sandboxSpec("neighbour"))
        const neighbour = yield* it.guest("neighbour", 1)
        yield* output(neighbour, `echo ${SECRET} > /workspace/own; echo ${SECRET} > /tmp/own`)
        yield* neighbour.processes.start("port", shell(`exec env -i S=${SECRET} sleep 3600`))
      })
    )
  })

  afterAll(async () => {
    delete process.env["ATOLL_ISOLATION_SECRET"]
    await host.dispose()
    tcp.close()
    abstract.close()
    rmSync(folder, { recursive: true, force: true })
  })

  attempt("the host's files are not there", (guest) =>
    Effect.gen(function* () {
      const root = yield* output(guest, "ls /")
      expect(
        root.split("\n").filter((it) => !/^(bin|dev|etc|lib\w*|opt|proc|run|sbin|sys|tmp|usr|var|workspace)$/.test(it))
      ).toEqual([])
      expect((yield* run(guest, shell(`cat ${secretFile} /etc/shadow /root/* /home/*`))).stdout).toBe("")
      expect(yield* output(guest, `grep -rs ${SECRET} /tmp /run /var /opt /etc /workspace /dev/shm || true`)).toBe("")
    })
  )

  attempt("another Sandbox's files, processes and sockets are not there", (guest) =>
    Effect.gen(function* () {
      expect(yield* output(guest, "ls -A /workspace /tmp")).not.toContain("own")
      expect(yield* output(guest, "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -c sleep || true")).toBe("0")
      expect(yield* output(guest, "find / -type s 2>/dev/null || true")).toBe("")
      const pids = Number(yield* output(guest, "ls -d /proc/[0-9]* | wc -l"))
      expect(pids).toBeLessThan(12)
    })
  )

  attempt("no environment and no command line shows a secret or a path of the host", (guest) =>
    Effect.gen(function* () {
      const all = yield* output(guest, "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'")
      expect(all).not.toContain(SECRET)
      expect(all).not.toContain("DATABASE")
      expect(all).not.toContain(tmpdir() === "/tmp" ? "/tmp/" : tmpdir())
      expect(all).not.toContain(process.cwd())
    })
  )

  attempt("a command inherits three descriptors, and none leads to a folder", (guest) =>
    Effect.gen(function* () {
      const links = yield* python(
        guest,
        "import os\nfor f in sorted(map(int, os.listdir('/proc/self/fd'))):\n  try: print(f, os.readlink(f'/proc/self/fd/{f}'))\n  except OSError: pass"
      )
      const others = links.split("\n").filter((line) => !/^[012] /.test(line))
      // A descriptor that the test's own runner left open is /dev/null there.
      expect(others.filter((line) => !line.endsWith(" /dev/null"))).toEqual([])
      expect(
        yield* python(
          guest,
          "import os\nfor p in os.listdir('/proc'):\n  if not p.isdigit(): continue\n  for f in os.listdir(f'/proc/{p}/fd') if os.access(f'/proc/{p}/fd', os.R_OK) else []:\n    path = f'/proc/{p}/fd/{f}'\n    if os.path.isdir(path) and not os.readlink(path).startswith('/proc/'): print(path, os.readlink(path))"
        )
      ).toBe("")
    })
  )

  attempt("a planted symbolic link shows nothing of the host to the file interface", (guest) =>
    Effect.gen(function* () {
      yield* output(guest, `ln -sf ${secretFile} link; ln -sfn ${folder} way; ln -sf /proc/1/root/etc/shadow deep`)
      for (const path of ["/workspace/link", "/workspace/way/secret", "/workspace/deep"]) {
        const read = guest.files.read(path, { offset: 0, maxBytes: 1_000, version: null })
        const outcome = yield* Effect.exit(
          Effect.scoped(Effect.flatMap(read, (it) => Effect.tryPromise(() => buffer(it.body))))
        )
        expect(outcome._tag).toBe("Failure")
      }
      yield* Effect.exit(guest.files.write("/workspace/way/new", upload([Buffer.from("x")])))
      yield* Effect.exit(guest.files.remove("/workspace/way/secret", { recursive: true }))
      expect(readdirSync(folder)).toEqual(["secret"])
      expect(readFileSync(secretFile, "utf8")).toBe(SECRET)
    })
  )

  attempt("commands have no capabilities and cannot gain any", (guest) =>
    Effect.gen(function* () {
      const status = yield* output(guest, "cat /proc/self/status")
      for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
        expect(status).toMatch(new RegExp(`${set}:\\s+0+$`, "m"))
      expect(status).toMatch(/NoNewPrivs:\s+1/)
      expect(status).toMatch(/Seccomp:\s+2/)
      expect(status).toMatch(/Uid:\s+1000\s+1000\s+1000\s+1000/)
    })
  )

  attempt("no file system lets set-user-id work, and set-user-id programs give nothing", (guest) =>
    Effect.gen(function* () {
      const mounts = yield* output(guest, "cat /proc/mounts")
      expect(mounts.split("\n").filter((line) => !line.split(" ")[3]!.split(",").includes("nosuid"))).toEqual([])
      yield* output(guest, "cp /usr/bin/id own-id; chmod 6755 own-id")
      expect(yield* output(guest, "./own-id -u")).toBe("1000")
      expect(
        (yield* run(guest, shell("su -c id root </dev/null; mount --bind /usr /workspace/usr"))).stdout
      ).not.toContain("uid=0")
    })
  )

  attempt("new namespaces are refused", (guest) =>
    Effect.gen(function* () {
      for (const flag of ["--user", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--time"]) {
        expect((yield* run(guest, commandSpec(["unshare", flag, "true"]))).exited.exitCode).not.toBe(0)
      }
      // clone with CLONE_NEWUSER, and clone3, which must not even exist.
      expect(yield* python(guest, `${SYSCALL}\nprint(call(56, 0x10000000 | 17, 0, 0, 0, 0), call(435, 0, 0))`)).toBe(
        process.arch === "x64" ? `${EPERM} 38` : expect.stringContaining("38")
      )
      expect((yield* run(guest, shell("bwrap --ro-bind / / true"))).exited.exitCode).not.toBe(0)
    })
  )

  attempt("mounting is refused, by the old calls and by the new", (guest) =>
    Effect.gen(function* () {
      expect((yield* run(guest, shell("mount -t tmpfs none /tmp"))).exited.exitCode).not.toBe(0)
      expect((yield* run(guest, shell("umount /proc || umount -l /tmp"))).exited.exitCode).not.toBe(0)
      const calls = "call(428, -100, b'/', 1), call(430, b'tmpfs', 0), call(442, -100, b'/', 0, 0, 0)"
      expect(yield* python(guest, `${SYSCALL}\nprint(${calls})`)).toBe("1 1 1")
    })
  )

  attempt("tracing and reading other processes' memory are refused", (guest) =>
    Effect.gen(function* () {
      const [ptrace, readv] = process.arch === "x64" ? [101, 310] : [117, 270]
      expect(
        yield* python(
          guest,
          `${SYSCALL}\nprint(call(${ptrace}, 0, 0, 0, 0), call(${ptrace}, 16, 1, 0, 0), call(${readv}, 2, 0, 0, 0, 0, 0))`
        )
      ).toBe("1 1 1")
    })
  )

  attempt("rarely needed system calls are refused", (guest) =>
    Effect.gen(function* () {
      const numbers =
        process.arch === "x64"
          ? [248, 250, 298, 304, 321, 323, 155, 161, 169, 175, 246, 227, 170]
          : [217, 219, 241, 265, 280, 282, 41, 51, 142, 105, 104, 112, 161]
      const common = [425, 426, 427, 438, 447]
      const calls = [...numbers, ...common].map((it) => `call(${it}, 0, 0, 0, 0, 0)`).join(", ")
      const errnos = (yield* python(guest, `${SYSCALL}\nprint(${calls})`)).split(" ")
      expect(errnos).toEqual([...numbers, ...common].map(() => String(EPERM)))
    })
  )

  attempt("unusual sockets are refused", (guest) =>
    Effect.gen(function* () {
      const code =
        "import socket\nfor family, kind, proto in ((40,1,0),(17,3,3),(38,5,0),(31,3,1),(16,3,9),(29,3,1)):\n  try:\n    socket.socket(family, kind, proto); print('open', family)\n  except OSError as e: print(e.errno)"
      expect((yield* python(guest, code)).split("\n")).toEqual(["97", "97", "97", "97", "97", "97"])
    })
  )

  attempt("a file cannot be given to another user, with the usual error", (guest) =>
    Effect.gen(function* () {
      const code = [
        "import os",
        "open('mine', 'w').close(); os.symlink('mine', 'own-link'); f = os.open('mine', os.O_RDWR)",
        "def tell(call, *a):",
        "  try: call(*a); return 0",
        "  except OSError as e: return e.errno",
        "for u, g in ((0, 0), (65534, -1), (-1, 65534), (1000, 0), (1000, 1000), (-1, -1), (1000, -1)):",
        "  print(tell(os.chown, 'mine', u, g), tell(os.lchown, 'own-link', u, g), tell(os.fchown, f, u, g))"
      ]
      const refused = "1 1 1"
      const done = "0 0 0"
      expect((yield* python(guest, code.join("\n"))).split("\n")).toEqual([
        ...Array(4).fill(refused),
        ...Array(3).fill(done)
      ])
    })
  )

  attempt("a Sandbox that opens all terminals that it can takes none from others", (guest) =>
    Effect.gen(function* () {
      if (!isRoot) return
      const hoard =
        "import os, time\nheld = []\ntry:\n  while len(held) < 1000: held.append(os.open('/dev/ptmx', os.O_RDWR))\nexcept OSError as e: print(len(held), e.errno, flush=True)\ntime.sleep(600)"
      yield* guest.processes.start("hoard", commandSpec(["python3", "-c", hoard], { timeoutMs: null }))
      const head = yield* Stream.runHead(guest.processes.attach("hoard", { stdoutOffset: 0, stderrOffset: 0 }))
      const frame = head._tag === "Some" ? head.value : null
      expect(frame?.type === "output" ? Buffer.from(frame.bytes).toString().trim() : null).toBe("64 28")
      const open = "import os\nm, s = os.openpty()\nprint(os.ttyname(s))"
      expect(yield* python(yield* guestOf("neighbour"), open)).toBe("/dev/pts/0")
      yield* guest.processes.kill("hoard", { graceMs: 0 })
      yield* gather(guest.processes.attach("hoard", { stdoutOffset: 0, stderrOffset: 0 }))
      expect(yield* python(guest, open)).toBe("/dev/pts/0")
    })
  )

  attempt("a terminal's input cannot be forged", (guest) =>
    Effect.map(
      python(
        guest,
        "import os,fcntl\nm,s=os.openpty()\ntry:\n  fcntl.ioctl(s, 0x5412, b'x'); print('typed')\nexcept OSError as e: print(e.errno)"
      ),
      (it) => expect(it).toBe("1")
    )
  )

  attempt("the host's processes cannot be seen or signalled", (guest) =>
    Effect.gen(function* () {
      const ended = yield* run(
        guest,
        shell(`kill -0 ${process.pid}; kill -KILL ${process.pid}; kill -KILL -1 & wait; true`)
      )
      expect(ended.stderr).toContain("No such process")
      expect(() => process.kill(process.pid, 0)).not.toThrow()
    }).pipe(
      // `kill -1` reaches everything of the Sandbox, its agent included: that Sandbox is down, and nothing else is.
      Effect.catch(() => Effect.void),
      Effect.andThen(
        Effect.gen(function* () {
          const it = yield* driver
          yield* eventually(
            Effect.map(
              Effect.exit(Effect.flatMap(guestOf("neighbour"), (g) => output(g, "echo well"))),
              (e) => e._tag === "Success"
            )
          )
          yield* it.stop("inmate", 1)
          yield* it.provision(sandboxSpec("inmate"))
        })
      )
    )
  )

  attempt(
    "neither the agent nor its spawner can be taken over: their memory is private, and no signal opens an inspector",
    (guest) =>
      Effect.gen(function* () {
        const said = yield* python(
          guest,
          `${SYSCALL}
import glob, signal
running = {open(p + '/cmdline', 'rb').read().split(b'\\0')[0]: p for p in glob.glob('/proc/[0-9]*') if p != '/proc/1'}
def refused(path, mode):
    try:
        open(path, mode).read(1)
        return 'opened ' + path
    except PermissionError:
        return 'refused'
for name in [b'/opt/atoll/node', b'/opt/atoll/spawner'][:2 if os.uname().machine == 'x86_64' else 1]:
    it = running[name]
    pid = int(it[6:])
    print({refused(it + '/' + name, mode) for name, mode in
        [('mem', 'r+b'), ('maps', 'rb'), ('environ', 'rb'), ('exe', 'rb'), ('task/%d/mem' % pid, 'r+b')]})
    try:
        print(os.listdir(it + '/fd'))
    except PermissionError:
        print('refused')
    print(call(101 if os.uname().machine == 'x86_64' else 117, 16, pid, 0, 0))
os.kill(int(running[b'/opt/atoll/node'][6:]), signal.SIGUSR1)`
        )
        const refused = `{'refused'}\nrefused\n${EPERM}`
        expect(said).toBe(process.arch === "x64" ? `${refused}\n${refused}` : refused)
        // It has had its signal when it answers, and listens by then if it ever does.
        const port = yield* output(guest, "sleep 0.3; grep -c ':240D ' /proc/net/tcp || true")
        expect(port).toBe("0")
      })
  )

  attempt("the system is read-only", (guest) =>
    Effect.gen(function* () {
      const places = [
        "/",
        "/usr",
        "/usr/bin",
        "/etc",
        "/opt",
        "/opt/atoll",
        "/dev",
        "/var",
        "/proc",
        "/proc/sys/kernel"
      ]
      for (const place of places) {
        expect((yield* run(guest, shell(`echo x > ${place}/atoll-test`))).exited.exitCode, place).not.toBe(0)
      }
      for (const file of [
        "/usr/bin/id",
        "/etc/passwd",
        "/opt/atoll/agent.cjs",
        "/opt/atoll/node",
        "/etc/resolv.conf"
      ]) {
        expect((yield* run(guest, shell(`echo x >> ${file}`))).exited.exitCode, file).not.toBe(0)
        expect((yield* run(guest, shell(`rm -f ${file}; mv ${file} /tmp/x`))).exited.exitCode, file).not.toBe(0)
      }
    })
  )

  attempt("kernel settings cannot be changed", (guest) =>
    Effect.gen(function* () {
      const controls = [
        "/proc/sysrq-trigger",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/1/oom_score_adj",
        "/proc/sys/vm/drop_caches"
      ]
      for (const path of controls) {
        if (path === "/proc/1/oom_score_adj") continue
        expect((yield* run(guest, shell(`echo 1 > ${path}`))).exited.exitCode, path).not.toBe(0)
      }
      expect(
        (yield* run(guest, shell("head -c 1 /proc/kcore; head -c 1 /dev/mem; head -c 1 /dev/kmsg; dmesg"))).stdout
      ).toBe("")
      // What it may show: its own limits.
      expect(yield* output(guest, "ls /sys /sys/fs")).toBe("/sys:\nfs\n\n/sys/fs:\ncgroup")
      expect((yield* run(guest, commandSpec(["hostname", "mine"]))).exited.exitCode).not.toBe(0)
      expect(yield* output(guest, "hostname")).toBe("sandbox")
    })
  )

  attempt("the host's devices are absent", (guest) =>
    Effect.gen(function* () {
      const devices = (yield* output(guest, "cd /dev; find . -type b -o -type c | sort")).split("\n")
      expect(devices.filter((it) => !/^\.\/(full|null|ptmx|pts\/.*|random|tty|urandom|zero)$/.test(it))).toEqual([])
      expect(
        (yield* run(guest, shell("mknod /workspace/disk b 254 0 || mknod /tmp/mem c 1 1"))).exited.exitCode
      ).not.toBe(0)
    })
  )

  attempt("without network there is only loopback, and the host's sockets cannot be reached", (guest) =>
    Effect.gen(function* () {
      expect(yield* output(guest, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '")).toBe("lo")
      const addresses = Object.values(networkInterfaces()).flatMap((all) =>
        (all ?? []).filter((it) => it.family === "IPv4").map((it) => it.address)
      )
      for (const address of ["127.0.0.1", ...addresses]) {
        const tried = yield* python(
          guest,
          `import socket\ns=socket.socket(); s.settimeout(3)\ntry:\n  s.connect(('${address}', ${hostPort})); print(s.recv(100))\nexcept OSError as e: print('no', e.errno)`
        )
        expect(tried).toMatch(/^no /)
      }
      const name = ABSTRACT.slice(1)
      expect(
        yield* python(
          guest,
          `import socket\ns=socket.socket(socket.AF_UNIX)\ntry:\n  s.connect('\\0${name}'); print(s.recv(100))\nexcept OSError as e: print('no')`
        )
      ).toBe("no")
    })
  )

  it.live.skipIf(networkUnusable !== null)(
    "a Sandbox with network reaches neither the host, private ranges nor the metadata address",
    () =>
      Effect.gen(function* () {
        const it = yield* driver
        yield* it.provision(sandboxSpec("surfer", { networkEnabled: true }))
        const guest = yield* it.guest("surfer", 1)
        const addresses = Object.values(networkInterfaces()).flatMap((all) =>
          (all ?? []).filter((one) => one.family === "IPv4").map((one) => one.address)
        )
        const targets = [
          ...addresses,
          "127.0.0.1",
          "10.0.2.2",
          "10.1.2.3",
          "172.16.0.1",
          "192.168.0.1",
          "169.254.169.254",
          "100.64.0.1",
          "0.0.0.0",
          "224.0.0.1"
        ]
        const code = `import socket\nfor a in ${JSON.stringify(targets)}:\n  s=socket.socket(); s.settimeout(3)\n  try:\n    s.connect((a, ${hostPort})); print('open', a)\n  except OSError: pass`
        expect(yield* python(guest, code)).toBe("")
        // EACCES: a route that prohibits. ENETUNREACH: no IPv6 at all, and EINVAL where the address is of a link.
        const refused = `import errno, socket\nfor a in ${JSON.stringify(cloudServices.map(([, address]) => address))}:\n  s=socket.socket(socket.AF_INET6 if ":" in a else socket.AF_INET); s.settimeout(3)\n  e = s.connect_ex((a, 80))\n  if e not in ((errno.ENETUNREACH, errno.EINVAL) if ":" in a else (errno.EACCES,)): print(a, e)`
        expect(yield* python(guest, refused)).toBe("")
        for (const change of [
          "ip route del prohibit 169.254.0.0/16",
          "ip route add 169.254.169.254 dev tap0",
          "ip link set tap0 down",
          "ip addr add 10.9.9.9/24 dev tap0"
        ]) {
          expect((yield* run(guest, shell(change))).exited.exitCode, change).not.toBe(0)
        }
        expect(yield* output(guest, "ip route show default")).toContain("tap0")
        // A socket that is bound to the device needs no route. The group is one that this host has joined.
        const heard: Array<string> = []
        const group = "239.255.77.1"
        const udp = createSocket({ type: "udp4", reuseAddr: true })
        const outside = createSocket("udp4")
        try {
          udp.on("message", (message) => heard.push(message.toString()))
          yield* Effect.promise(() => new Promise<void>((resolve) => udp.bind(0, "0.0.0.0", resolve)))
          udp.addMembership(group)
          const port = udp.address().port
          const naming = `import socket, struct
i = socket.if_nametoindex("tap0")
ways = [lambda s: s.setsockopt(socket.SOL_SOCKET, 25, b"tap0"), lambda s: s.setsockopt(0, 50, struct.pack("!I", i)),
  lambda s: s.setsockopt(0, 32, struct.pack("4s4si", bytes(4), bytes(4), i)), lambda s: None]
for way in ways:
  for a in ${JSON.stringify([...targets, group])}:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(0, 33, 8)
    try:
      way(s); s.sendmsg([b"guest"], [(0, 8, struct.pack("i4s4s", i, bytes(4), bytes(4)))] if way is ways[3] else [], 0, (a, ${port}))
    except OSError: pass`
          expect(yield* python(guest, naming)).toBe("")
          // Slirp4netns takes packets in order: after the answer to this one, those before it have been sent or dropped.
          yield* python(
            guest,
            `import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)\ntry:\n  s.sendto(bytes.fromhex("123401000001000000000000076578616d706c6503636f6d0000010001"), ("10.0.2.3", 53)); s.recv(500)\nexcept OSError: pass`
          )
          // The control: this host does receive what is sent to that group.
          outside.send("control", port, group)
          yield* eventually(Effect.sync(() => heard.includes("control")))
          expect(heard).toEqual(["control"])
        } finally {
          udp.close()
          outside.close()
        }
        yield* it.destroy("surfer")
      })
  )

  attempt("a fork bomb meets its limit, and the Sandbox answers again", (guest) =>
    Effect.gen(function* () {
      const it = yield* driver
      if (
        !isRoot ||
        it.capabilities.statements.some((line) => /not enforced.*processes|processes.*not enforced/.test(line))
      )
        return
      const bomb =
        "import os\nn=0\ntry:\n  while n<2000:\n    if os.fork()==0:\n      import time; time.sleep(600)\n    n+=1\nexcept OSError: pass\nprint(n, flush=True)\nimport time; time.sleep(600)"
      yield* guest.processes.start("bomb", commandSpec(["python3", "-c", bomb], { timeoutMs: null }))
      const head = yield* Stream.runHead(guest.processes.attach("bomb", { stdoutOffset: 0, stderrOffset: 0 }))
      const frame = head._tag === "Some" ? head.value : null
      expect(frame?.type === "output" ? Number(Buffer.from(frame.bytes).toString()) : 2_000).toBeLessThan(200)
      expect(yield* output(yield* guestOf("neighbour"), "echo well")).toBe("well")
      yield* guest.processes.kill("bomb", { graceMs: 0 })
      expect((yield* gather(guest.processes.attach("bomb", { stdoutOffset: 0, stderrOffset: 0 }))).processTree).toBe(
        "gone"
      )
      expect(yield* output(guest, "echo well")).toBe("well")
    })
  )

  attempt("a memory bomb is killed, and neither the agent nor the neighbour is", (guest) =>
    Effect.gen(function* () {
      const it = yield* driver
      if (!isRoot || it.capabilities.statements.some((line) => /not enforced.*memory|memory.*not enforced/.test(line)))
        return
      const bomb = yield* run(guest, commandSpec(["python3", "-c", "b=[]\nwhile 1: b.append(bytearray(16*1024*1024))"]))
      expect(bomb.exited).toMatchObject({ exitCode: null, signal: "SIGKILL" })
      expect(yield* output(guest, "echo well")).toBe("well")
      const files = yield* run(
        guest,
        shell(
          "head -c 2000000000 /dev/zero > /dev/shm/x; head -c 2000000000 /dev/zero > /tmp/x; rm -f /dev/shm/x /tmp/x"
        )
      )
      expect(files.exited.exitCode === 0 || files.exited.signal === "SIGKILL").toBe(true)
      yield* run(guest, shell("rm -f /dev/shm/x /tmp/x"))
      expect(yield* output(guest, "echo well")).toBe("well")
      expect(yield* output(yield* guestOf("neighbour"), "echo well")).toBe("well")
    })
  )

  attempt("many small memory hogs end before the agent does", (guest) =>
    Effect.gen(function* () {
      const it = yield* driver
      if (!isRoot || it.capabilities.statements.some((line) => /not enforced.*memory|memory.*not enforced/.test(line)))
        return
      // Each is smaller than the agent, so that by size alone the agent would be killed first.
      const hogs =
        "import os, time\nfor _ in range(120):\n  if os.fork() == 0:\n    hog = bytearray(8 * 1024 * 1024)\n    time.sleep(600)\ntime.sleep(600)"
      yield* guest.processes.start("hogs", commandSpec(["python3", "-c", hogs], { timeoutMs: null }))
      yield* Effect.sleep(1_500)
      expect(yield* output(guest, "echo well")).toBe("well")
      yield* guest.processes.kill("hogs", { graceMs: 0 })
      expect((yield* gather(guest.processes.attach("hogs", { stdoutOffset: 0, stderrOffset: 0 }))).processTree).toBe(
        "gone"
      )
    })
  )

  attempt("a full disk affects only its Sandbox", (guest) =>
    Effect.gen(function* () {
      if (!isRoot) return
      const filled = yield* run(guest, shell("head -c 200000000 /dev/zero > big"))
      expect(filled.exited.exitCode).not.toBe(0)
      expect(filled.stderr).toContain("No space left")
      expect(Number(yield* output(guest, "stat -c %s big"))).toBeLessThan(64 * MiB)
      expect(yield* output(guest, "rm big; echo well > small; cat small")).toBe("well")
    })
  )

  attempt("the delegated cgroups grant nothing beyond them", (guest) =>
    Effect.gen(function* () {
      if (!isRoot) return
      const cgroup = "/opt/atoll/cgroup"
      for (const file of [
        "cgroup.max.descendants",
        "cgroup.subtree_control",
        "cgroup.kill",
        "cgroup.freeze",
        "memory.max",
        "pids.max"
      ]) {
        expect((yield* run(guest, shell(`echo 1 > ${cgroup}/${file}`))).exited.exitCode, file).not.toBe(0)
      }
      expect((yield* run(guest, shell(`echo $$ > ${cgroup}/../cgroup.procs`))).exited.exitCode).not.toBe(0)
      // A command that hides in the agent's own cgroup is found when it is to be ended.
      const script = `setsid sh -c 'echo 0 > ${cgroup}/cgroup.threads; exec sleep 7401' & sleep 7401`
      yield* guest.processes.start("stray", shell(script))
      const sleepers = Effect.map(output(guest, "pgrep -cfx 'sleep 7401' || true"), Number)
      yield* eventually(Effect.map(sleepers, (it) => it >= 2))
      yield* guest.processes.kill("stray", { graceMs: 0 })
      yield* gather(guest.processes.attach("stray", { stdoutOffset: 0, stderrOffset: 0 }))
      yield* eventually(Effect.map(sleepers, (it) => it === 0))
    })
  )

  it.live.skipIf(!isRoot)("each Sandbox has a separate host user without rights outside", () =>
    Effect.gen(function* () {
      const uids = new Set<number>()
      for (const pid of readdirSync("/proc").filter((it) => /^\d+$/.test(it))) {
        try {
          const environ = readFileSync(`/proc/${pid}/environ`, "latin1")
          if (/ATOLL_SANDBOX=[^/]+\/(inmate|neighbour)\//.test(environ)) uids.add(statSync(`/proc/${pid}`).uid)
        } catch {
          // It ended.
        }
      }
      uids.delete(0)
      expect([...uids].filter((uid) => uid < 2_000_000)).toEqual([])
      expect(uids.size).toBeGreaterThanOrEqual(2)
    })
  )
})
