/**
 * The recipe of a guest's base image. Any change here makes a new image.
 *
 * Debian stable, because its cloud kernel has ext4, virtio-pci, virtio-serial and vmgenid built in and a PVH entry: QEMU starts it without firmware
 * or a bootloader.
 */
export const recipe = {
  /** Incremented when the build changes in a way that the other fields do not show. */
  revision: 3,
  suite: "trixie",
  archives: [
    "deb http://deb.debian.org/debian trixie main",
    "deb http://deb.debian.org/debian trixie-updates main",
    "deb http://deb.debian.org/debian-security trixie-security main"
  ],
  /** In addition to Debian's `minbase`. */
  packages: [
    "bash",
    // Builds Dockerfiles (runtime/buildScript.ts).
    "buildah",
    "busybox-static",
    "bzip2",
    "ca-certificates",
    "curl",
    "diffutils",
    "file",
    "findutils",
    "g++",
    "gcc",
    "git",
    "iproute2",
    "iputils-ping",
    "jq",
    "less",
    "libc6-dev",
    "make",
    "nano",
    "netcat-openbsd",
    "openssh-client",
    // `sftp`, `scp` and `rsync` start these at the remote end of a cooperative connection.
    "openssh-sftp-server",
    "patch",
    "procps",
    "python3",
    "python3-pip",
    "python3-venv",
    "rsync",
    "sqlite3",
    "sudo",
    "tmux",
    "unzip",
    "vim-tiny",
    "wget",
    "xz-utils",
    "zip"
  ],
  excludedPaths: ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*"],
  kernelPackage: "linux-image-cloud-amd64",
  /** Loaded by the initramfs in this order. Everything else that the guest needs is built into the kernel. */
  modules: ["virtio_blk", "failover", "net_failover", "virtio_net", "pvpanic", "pvpanic-pci", "squashfs", "overlay"],
  /** Unprivileged owner of everything in /workspace. */
  user: { name: "sandbox", uid: 1000, gid: 1000 },
  /** Size of the root disk: what a guest can write outside its volume is bounded by it. */
  rootBytes: 3 * 1024 ** 3,
  /** Fixed, so that equal contents give equal images. */
  rootUuid: "a7011a70-11a7-4011-a701-1a7011a7011a"
} as const
