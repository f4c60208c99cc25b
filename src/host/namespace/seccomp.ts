/**
 * The system calls that no program in a Sandbox may make, as a classic BPF program for `bwrap --seccomp`.
 *
 * A deny list. It has what container runtimes deny to an unprivileged process, without the calls that need a capability which a Sandbox never has and
 * cannot get. It adds what only attacks use: namespaces (so that no new user namespace gives capabilities over fresh kernel surface), io_uring,
 * keyrings, bpf, perf, userfaultfd, tracing, mounts, modules, kexec, clocks, and all socket families but unix, IPv4, IPv6 and route netlink. A denied
 * call fails with EPERM. `clone3` fails with ENOSYS: its flags are in memory, which a filter cannot read, and libc then uses `clone`.
 *
 * A Sandbox that builds Dockerfiles has another list: what buildah 1.28 does with `--isolation chroot` is allowed, in its own user namespace. It may
 * bind mounts and make them private, and mounts no file system; it may have mount and host-name namespaces, and no others; it may change owners.
 *
 * @source Linux Documentation/userspace-api/seccomp_filter.rst; include/uapi/linux/{seccomp,filter,audit}.h; Docker's default profile
 */
import { SANDBOX_UID } from "./systemFiles.ts"

const EPERM = 1
const ENOSYS = 38
const EAFNOSUPPORT = 97

const ALLOW = 0x7fff0000
const KILL_PROCESS = 0x80000000
const errno = (code: number): number => 0x00050000 | code

/** Offsets in struct seccomp_data. An argument's offset is that of its low half on a little-endian machine. */
const NUMBER = 0
const ARCHITECTURE = 4
const argument = (index: number): number => 16 + 8 * index

const CLONE_NEW_NAMESPACES =
  0x00000080 | 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
/** buildah calls unshare(2) with them. */
const BUILDER_NAMESPACES = 0x00020000 | 0x04000000
const MS_BIND = 0x1000
const MS_REC = 0x4000
const MS_PRIVATE = 0x40000
const MS_SLAVE = 0x80000
const AF_UNIX = 1
const AF_INET = 2
const AF_INET6 = 10
const AF_NETLINK = 16
const NETLINK_ROUTE = 0
const TIOCSTI = 0x5412
const TIOCLINUX = 0x541c
/** The "unchanged" user or group of chown(2). */
const UNCHANGED = 0xffffffff
/** Linux, Linux with 32-bit uname, and the query value. */
const PERSONALITIES = [0, 8, 0xffffffff]

interface Architecture {
  readonly audit: number
  /** Call numbers from here on belong to another ABI of the same architecture. */
  readonly foreignFrom: number | null
  readonly clone: number
  readonly unshare: number
  readonly socket: number
  readonly socketpair: number
  readonly ioctl: number
  readonly personality: number
  /** Calls that change a file's owner, with the index of the user argument; the group argument follows it. */
  readonly chown: ReadonlyArray<readonly [call: number, user: number]>
  readonly denied: Readonly<Record<string, number>>
}

/** Calls added since 2019 have the same number on all architectures. */
const COMMON = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  pidfd_getfd: 438,
  process_madvise: 440,
  mount_setattr: 442,
  quotactl_fd: 443,
  memfd_secret: 447,
  process_mrelease: 448,
  set_mempolicy_home_node: 450,
  statmount: 457,
  listmount: 458,
  open_tree_attr: 467
}
const CLONE3 = 435

const X64: Architecture = {
  audit: 0xc000003e,
  foreignFrom: 0x40000000,
  clone: 56,
  unshare: 272,
  socket: 41,
  socketpair: 53,
  ioctl: 16,
  personality: 135,
  chown: [
    [92, 1],
    [93, 1],
    [94, 1],
    [260, 2]
  ],
  denied: {
    ...COMMON,
    ptrace: 101,
    syslog: 103,
    uselib: 134,
    ustat: 136,
    sysfs: 139,
    vhangup: 153,
    modify_ldt: 154,
    pivot_root: 155,
    _sysctl: 156,
    adjtimex: 159,
    chroot: 161,
    acct: 163,
    settimeofday: 164,
    mount: 165,
    umount2: 166,
    swapon: 167,
    swapoff: 168,
    reboot: 169,
    sethostname: 170,
    setdomainname: 171,
    iopl: 172,
    ioperm: 173,
    create_module: 174,
    init_module: 175,
    delete_module: 176,
    get_kernel_syms: 177,
    query_module: 178,
    quotactl: 179,
    nfsservctl: 180,
    lookup_dcookie: 212,
    clock_settime: 227,
    mbind: 237,
    set_mempolicy: 238,
    get_mempolicy: 239,
    kexec_load: 246,
    add_key: 248,
    request_key: 249,
    keyctl: 250,
    migrate_pages: 256,
    move_pages: 279,
    perf_event_open: 298,
    fanotify_init: 300,
    name_to_handle_at: 303,
    open_by_handle_at: 304,
    clock_adjtime: 305,
    setns: 308,
    process_vm_readv: 310,
    process_vm_writev: 311,
    kcmp: 312,
    finit_module: 313,
    kexec_file_load: 320,
    bpf: 321,
    userfaultfd: 323
  }
}

const ARM64: Architecture = {
  audit: 0xc00000b7,
  foreignFrom: null,
  clone: 220,
  unshare: 97,
  socket: 198,
  socketpair: 199,
  ioctl: 29,
  personality: 92,
  chown: [
    [55, 1],
    [54, 2]
  ],
  denied: {
    ...COMMON,
    lookup_dcookie: 18,
    umount2: 39,
    mount: 40,
    pivot_root: 41,
    nfsservctl: 42,
    chroot: 51,
    vhangup: 58,
    quotactl: 60,
    acct: 89,
    kexec_load: 104,
    init_module: 105,
    delete_module: 106,
    clock_settime: 112,
    syslog: 116,
    ptrace: 117,
    reboot: 142,
    sethostname: 161,
    setdomainname: 162,
    settimeofday: 170,
    adjtimex: 171,
    add_key: 217,
    request_key: 218,
    keyctl: 219,
    swapon: 224,
    swapoff: 225,
    mbind: 235,
    get_mempolicy: 236,
    set_mempolicy: 237,
    migrate_pages: 238,
    move_pages: 239,
    perf_event_open: 241,
    fanotify_init: 262,
    name_to_handle_at: 264,
    open_by_handle_at: 265,
    clock_adjtime: 266,
    setns: 268,
    process_vm_readv: 270,
    process_vm_writev: 271,
    kcmp: 272,
    finit_module: 273,
    bpf: 280,
    userfaultfd: 282,
    kexec_file_load: 294
  }
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = { x64: X64, arm64: ARM64 }

type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, k: number]

const load = (offset: number): Instruction => [0x20, 0, 0, offset]
const give = (value: number): Instruction => [0x06, 0, 0, value]
const jumpIfEqual = (k: number, yes: number, no: number): Instruction => [0x15, yes, no, k]
const jumpIfAtLeast = (k: number, yes: number, no: number): Instruction => [0x35, yes, no, k]
const jumpIfAnySet = (k: number, yes: number, no: number): Instruction => [0x45, yes, no, k]

/** Decides one system call by its arguments. The call's number is loaded before and after. */
const inspect = (call: number, body: ReadonlyArray<Instruction>): ReadonlyArray<Instruction> => [
  jumpIfEqual(call, 0, body.length),
  ...body
]

/** Allows the listed values of one argument. */
const onlyValues = (index: number, values: ReadonlyArray<number>, otherwise: number): ReadonlyArray<Instruction> => [
  load(argument(index)),
  ...values.map((value, position) => jumpIfEqual(value, values.length - position, 0)),
  give(otherwise),
  give(ALLOW)
]

const denyFlags = (index: number, flags: number): ReadonlyArray<Instruction> => [
  load(argument(index)),
  jumpIfAnySet(flags, 0, 1),
  give(errno(EPERM)),
  give(ALLOW)
]

/**
 * Allows as a file's new owner only the Sandbox's user, or "unchanged". For a user that is not mapped the kernel would return EINVAL, where programs
 * expect EPERM.
 */
const onlyOwnUser = (user: number): ReadonlyArray<Instruction> => [
  load(argument(user)),
  jumpIfEqual(SANDBOX_UID, 2, 0),
  jumpIfEqual(UNCHANGED, 1, 0),
  give(errno(EPERM)),
  load(argument(user + 1)),
  jumpIfEqual(SANDBOX_UID, 2, 0),
  jumpIfEqual(UNCHANGED, 1, 0),
  give(errno(EPERM)),
  give(ALLOW)
]

/** Calls that a Sandbox which builds Dockerfiles may make. */
const BUILDER_CALLS = ["chroot", "mount", "umount2", "sethostname"]

/**
 * Allows binds, remounts of binds, and private propagation. A mount with any other flags could be of a file system. The values of propagation are
 * compared whole: the kernel drops the upper half of flags that begin with MS_MGC_VAL (0xC0ED), in which a propagation flag would be found.
 *
 * @source Linux fs/namespace.c path_mount
 */
const onlyBinds = (): ReadonlyArray<Instruction> => [
  load(argument(3)),
  jumpIfAnySet(MS_BIND, 0, 1),
  give(ALLOW),
  ...onlyValues(
    3,
    [MS_PRIVATE, MS_SLAVE].flatMap((kind) => [kind, kind | MS_REC]),
    errno(EPERM)
  )
]

const program = (it: Architecture, builds: boolean): ReadonlyArray<Instruction> => [
  load(ARCHITECTURE),
  jumpIfEqual(it.audit, 1, 0),
  give(KILL_PROCESS),
  load(NUMBER),
  ...(it.foreignFrom === null ? [] : [jumpIfAtLeast(it.foreignFrom, 0, 1), give(errno(ENOSYS))]),
  ...Object.entries(it.denied).flatMap(([name, call]) =>
    builds && BUILDER_CALLS.includes(name) ? [] : [jumpIfEqual(call, 0, 1), give(errno(EPERM))]
  ),
  jumpIfEqual(CLONE3, 0, 1),
  give(errno(ENOSYS)),
  ...inspect(it.clone, denyFlags(0, CLONE_NEW_NAMESPACES)),
  ...inspect(it.unshare, denyFlags(0, CLONE_NEW_NAMESPACES & ~(builds ? BUILDER_NAMESPACES : 0))),
  ...inspect(it.socket, [
    load(argument(0)),
    jumpIfEqual(AF_UNIX, 6, 0),
    jumpIfEqual(AF_INET, 5, 0),
    jumpIfEqual(AF_INET6, 4, 0),
    jumpIfEqual(AF_NETLINK, 0, 2),
    load(argument(2)),
    jumpIfEqual(NETLINK_ROUTE, 1, 0),
    give(errno(EAFNOSUPPORT)),
    give(ALLOW)
  ]),
  ...inspect(it.socketpair, onlyValues(0, [AF_UNIX], errno(EAFNOSUPPORT))),
  ...inspect(it.ioctl, [
    load(argument(1)),
    jumpIfEqual(TIOCSTI, 1, 0),
    jumpIfEqual(TIOCLINUX, 0, 1),
    give(errno(EPERM)),
    give(ALLOW)
  ]),
  ...(builds ? inspect(it.denied["mount"]!, onlyBinds()) : []),
  ...(builds ? [] : it.chown.flatMap(([call, user]) => inspect(call, onlyOwnUser(user)))),
  ...inspect(it.personality, onlyValues(0, PERSONALITIES, errno(EPERM))),
  give(ALLOW)
]

/** The program as an array of struct sock_filter, or null for an architecture without a list. @param builds For a Sandbox that builds Dockerfiles. */
export const seccompProgram = (architecture: string, builds = false): Buffer | null => {
  const it = ARCHITECTURES[architecture]
  if (it === undefined) return null
  const instructions = program(it, builds)
  const bytes = Buffer.alloc(instructions.length * 8)
  for (const [index, [code, jumpTrue, jumpFalse, k]] of instructions.entries()) {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(jumpTrue, index * 8 + 2)
    bytes.writeUInt8(jumpFalse, index * 8 + 3)
    bytes.writeUInt32LE(k >>> 0, index * 8 + 4)
  }
  return bytes
}
