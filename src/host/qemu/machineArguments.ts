/**
 * Builds QEMU's command line. A template and its clones must have the same devices, so both are made here.
 *
 * @source lab.md "QEMU"; QEMU docs/system/invocation.rst
 */
export type Accelerator = "kvm" | "tcg"

export interface MachineShape {
  readonly accelerator: Accelerator
  /** Whole: its cgroup bounds a part of one. */
  readonly vcpus: number
  readonly memoryBytes: number
  /** The volume is a fixed device of the machine: the guest knows its size from the template. */
  readonly volumeBytes: number
  readonly network: boolean
  /** Of the image whose files are the Sandbox's root: a further disk. Absent: its root is the root disk. */
  readonly imageDigest?: string
}

/** File names in a machine's own folder, which is QEMU's working directory. */
export const machineFiles = {
  overlay: "root.qcow2",
  volume: "volume.raw",
  /** The image whose files are the Sandbox's root (`MachineImages.ts`). */
  image: "image.sqfs",
  suspended: "suspended.state",
  /** The same without memory, while the machine wakes (`savedMemory.ts`). */
  devices: "devices.state",
  /** A running machine's memory, while a snapshot is taken of it (`memoryCapture.ts`). */
  captured: "captured.state",
  /** Until the first wake of a machine with another one's memory (`forkedMemory.ts`). */
  forkFolder: "fork",
  forked: "fork/memory.state",
  qmpSocket: "run/qmp.sock",
  agentSocket: "run/agent.sock",
  bootSocket: "run/boot.sock",
  life: "run/life"
} as const

/**
 * Descriptors passed to QEMU: the sockets on which it listens, the write end of its life pipe, and its image. QEMU creates no named socket: root connects to
 * those names, and a QEMU that a guest took over could replace them.
 */
export const Descriptor = { life: 3, qmpSocket: 4, agentSocket: 5, bootSocket: 6, image: 7 } as const

/** A qcow2 file's extra size beside its clusters: tables of less than a thousandth, and the rest of discards. */
const OVERLAY_MARGIN = 1.01
/** Size of the device state, beside the memory. */
const STATE_BYTES = 64 * 1024 ** 2

/** The largest size of a root disk's overlay. */
export const overlayMaxBytes = (rootBytes: number): number => Math.ceil(rootBytes * OVERLAY_MARGIN)

/** The largest file that a machine writes: its volume, its root disk, or its memory when it is suspended. */
export const fileMaxBytes = ({ volumeBytes, memoryBytes }: MachineShape, rootBytes: number): number =>
  Math.max(volumeBytes, overlayMaxBytes(rootBytes), memoryBytes + STATE_BYTES)

export type Start =
  /** Boots the kernel. `memoryFile`: the template's memory, shared with that file; null: private memory. */
  | {
      readonly type: "boot"
      readonly kernel: string
      readonly initramfs: string
      readonly memoryFile: string | null
      /** Frequency of the time stamp counter. Null: the guest measures it, which can be wrong by a factor on a busy host. */
      readonly tscKhz: number | null
    }
  /** Paused, waiting for `migrate-incoming`. Its memory is a private copy-on-write view of the template's. */
  | { readonly type: "clone"; readonly memoryFile: string }
  /**
   * Paused, waiting for `migrate-incoming`. Its memory is a private copy-on-write view of that part of a file; null: it comes with the state.
   */
  | { readonly type: "wake"; readonly mapped: { readonly file: string; readonly offset: number } | null }

/**
 * `max` without features that are slower under TCG than the kernel's fallback. Five-level paging makes every address translation one step longer.
 * String instructions that the processor reports as fast are used byte by byte.
 */
const cpuModel = (accelerator: Accelerator): string =>
  accelerator === "kvm" ? "host" : "max,la57=off,erms=off,fsrm=off"

/**
 * Kernel features that a guest under emulation runs without. One customer's guest has no second party inside to defend against, and mitigations cost
 * a quarter of TCG's speed; clearing memory twice, checking copies and counting stalls cost another tenth; security modules without rules are 1 to 3 %
 * of the code that runs for a first command. A guest on hardware keeps them all.
 */
const EMULATED = [
  "mitigations=off init_on_alloc=0 hardened_usercopy=off psi=0 audit=0 lsm=landlock,yama",
  // The only other clock is read through an emulated port. A command reads the clock some hundred times, and took twice as long with that.
  "tsc=reliable",
  // Read by guest/agent.sh.
  "atoll.emulated"
].join(" ")

const kernelCommandLine = ({ accelerator, imageDigest }: MachineShape, tscKhz: number | null): string =>
  [
    "console=ttyS0 quiet loglevel=3 panic=-1 oops=panic",
    // Each command gets a cgroup, and each move into one waits for an RCU grace period.
    "cgroup_no_v1=all rcupdate.rcu_expedited=1 random.trust_cpu=on",
    accelerator === "tcg" ? EMULATED : "",
    // The guest refines the frequency only to within one percent of this value. @source linux/arch/x86/kernel/tsc.c tsc_refine_calibration_work
    accelerator === "tcg" && tscKhz !== null ? `tsc_early_khz=${tscKhz}` : "",
    // Read by guest/sysinit.sh and guest/agent.sh.
    imageDigest === undefined ? "" : "atoll.image"
  ].join(" ")

const memoryObject = (start: Start, bytes: number): string => {
  const size = `id=ram,size=${bytes}`
  if (start.type === "clone") {
    return `memory-backend-file,${size},mem-path=${start.memoryFile},share=off,readonly=on,rom=off`
  }
  if (start.type === "wake" && start.mapped !== null) {
    const { file, offset } = start.mapped
    return `memory-backend-file,${size},mem-path=${file},offset=${offset},share=off,readonly=on,rom=off`
  }
  if (start.type === "boot" && start.memoryFile !== null) {
    return `memory-backend-file,${size},mem-path=${start.memoryFile},share=on`
  }
  return `memory-backend-ram,${size}`
}

/** How much translated code QEMU keeps under TCG. Its default of 1 GiB would be twice the guest's size. */
const TRANSLATIONS_MIB = 64

/** QEMU's name for a machine's console. */
export const CONSOLE = "console"
/** A power of two. Output that is not read in time is overwritten. */
const CONSOLE_BYTES = 64 * 1024

/** Space that a guest frees or overwrites with zeros is returned to the host. */
const GIVEN_BACK = "discard=unmap,detect-zeroes=unmap"
/** A write that the host cannot complete pauses the whole machine instead of being lost. */
const ON_ERROR = "werror=stop,rerror=report"

const IMAGE_SET = 1

/** The third disk. Its file is open already, because QEMU's user may not read it by name. Nothing changes it, so no lock is needed. */
const imageDisk = [
  ...["-add-fd", `fd=${Descriptor.image},set=${IMAGE_SET}`],
  ...[
    "-blockdev",
    `raw,node-name=image,read-only=on,file.driver=file,file.filename=/dev/fdset/${IMAGE_SET},file.locking=off`
  ],
  ...["-device", "virtio-blk-pci,drive=image"]
]

export const machineArguments = (
  shape: MachineShape,
  machine: { readonly uuid: string; readonly start: Start }
): ReadonlyArray<string> => {
  const { start } = machine
  const accelerator = shape.accelerator === "tcg" ? `tcg,thread=multi,tb-size=${TRANSLATIONS_MIB}` : "kvm"
  const listening = (name: string, descriptor: number) => [
    "-chardev",
    `socket,id=${name},fd=${descriptor},server=on,wait=off`
  ]
  const serialPort = (name: string, descriptor: number, number: number) => [
    ...listening(name, descriptor),
    "-device",
    `virtserialport,bus=serial.0,nr=${number},chardev=${name},name=atoll.${name}`
  ]
  return [
    ...["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
    ...["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"],
    ...["-uuid", machine.uuid],
    ...["-accel", accelerator],
    ...["-machine", "q35,i8042=off,hpet=off,smm=off,usb=off,sata=off,vmport=off,memory-backend=ram"],
    ...["-cpu", cpuModel(shape.accelerator), "-smp", String(shape.vcpus), "-m", `${shape.memoryBytes}B`],
    ...["-object", memoryObject(start, shape.memoryBytes)],
    ...["-rtc", "base=utc,clock=host"],
    ...["-device", "vmgenid,guid=auto", "-device", "pvpanic-pci"],
    // A ring buffer in QEMU's memory: a guest cannot fill a disk with it, even if the service does not read it.
    ...["-chardev", `ringbuf,id=${CONSOLE},size=${CONSOLE_BYTES}`, "-serial", `chardev:${CONSOLE}`],
    ...["-device", "virtio-serial-pci,id=serial,max_ports=4,ioeventfd=off"],
    ...serialPort("agent", Descriptor.agentSocket, 1),
    ...serialPort("boot", Descriptor.bootSocket, 2),
    // The root disk does not outlive the boot, so no write waits for the disk.
    ...[
      "-blockdev",
      `qcow2,node-name=root,${GIVEN_BACK},cache.no-flush=on,file.driver=file,file.filename=${machineFiles.overlay},file.discard=unmap`
    ],
    ...["-device", `virtio-blk-pci,drive=root,${ON_ERROR}`],
    ...[
      "-blockdev",
      `raw,node-name=volume,${GIVEN_BACK},file.driver=file,file.filename=${machineFiles.volume},file.discard=unmap`
    ],
    ...["-device", `virtio-blk-pci,drive=volume,${ON_ERROR}`],
    ...(shape.imageDigest === undefined ? [] : imageDisk),
    ...(shape.network
      ? [
          ...["-netdev", "user,id=net,net=10.0.3.0/24,host=10.0.3.2,dns=10.0.3.3,ipv6=off"],
          ...["-device", "virtio-net-pci,netdev=net,mac=02:00:00:00:03:0f,romfile="]
        ]
      : []),
    ...[...listening("control", Descriptor.qmpSocket), "-mon", "chardev=control,mode=control"],
    ...(start.type === "boot"
      ? ["-kernel", start.kernel, "-initrd", start.initramfs, "-append", kernelCommandLine(shape, start.tscKhz)]
      : ["-incoming", "defer", "-S"])
  ]
}
