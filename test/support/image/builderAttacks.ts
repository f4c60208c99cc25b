/**
 * What root of a Sandbox that builds Dockerfiles tries in order to leave it, as a program in Python. It prints a line for each try: its name, and the error
 * number that it gave, or 0. `own`: in its own mount namespace, where it may mount binds.
 *
 * @source capabilities(7), mount(2), mount_namespaces(7), chroot(2)
 */
export const builderAttacks = `
import ctypes, os, sys, socket
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
own = sys.argv[1] == 'own'
def call(*a):
    ctypes.set_errno(0)
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return ctypes.get_errno() if r == -1 else 0
def tried(act, *a):
    try:
        act(*a)
        return 0
    except OSError as e:
        return e.errno
def mount(source, target, kind, flags): return call(165, source, target, kind, flags, 0)
def told(name, code): print(name, code, flush=True)
REMOUNT, BIND, MOVE, REC, PRIVATE, SHARED, MAGIC = 0x20, 0x1000, 0x2000, 0x4000, 0x40000, 0x100000, 0xC0ED0000
if own:
    told('unshare', call(272, 0x20000))
    told('private', mount(0, b'/', 0, REC | PRIVATE))
for path in (b'/', b'/usr', b'/dev', b'/opt/atoll/agent.cjs'):
    told('remount ' + path.decode(), mount(0, path, 0, REMOUNT | BIND))
for path in (b'/proc/1', b'/usr', b'/proc/cmdline', b'/dev', b'/'):
    told('umount ' + path.decode(), call(166, path, 2))
os.makedirs('/workspace/at', exist_ok=True)
told('uncovered proc', mount(b'/proc', b'/workspace/at', 0, BIND))
if own:
    told('covered proc', mount(b'/proc', b'/workspace/at', 0, BIND | REC))
    told('covered init', tried(open, '/workspace/at/1/environ', 'rb'))
others = [it for it in os.listdir('/proc') if it.isdigit() and int(it) != os.getpid()]
told('memories', len(others) < 3 or [it for it in others if tried(open, '/proc/' + it + '/mem', 'r+b') == 0] or 0)
told('superblock', mount(0, b'/workspace', 0, REMOUNT))
for kind in (b'proc', b'sysfs', b'tmpfs', b'overlay', b'ext4', b'squashfs', b'cgroup2', b'mqueue', b'devpts', b'fuse'):
    told('mount ' + kind.decode(), mount(kind, b'/workspace/at', kind, 0))
for name, flags in (('magic', MAGIC), ('magic private', MAGIC | PRIVATE), ('magic shared', MAGIC | SHARED), ('shared', SHARED), ('move', MOVE)):
    told('mount ' + name, mount(b'tmpfs', b'/workspace/at', b'tmpfs', flags))
told('open_tree', call(428, -100, b'/', 1))
told('move_mount', call(429, -1, b'', -100, b'/workspace/at', 4))
told('fsopen', call(430, b'tmpfs', 0))
told('mount_setattr', call(442, -100, b'/', 0, 0, 0))
told('pivot_root', call(155, b'/workspace', b'/workspace/at'))
for name, flag in (('user', 0x10000000), ('pid', 0x20000000), ('net', 0x40000000), ('ipc', 0x8000000), ('cgroup', 0x2000000), ('time', 0x80)):
    told('unshare ' + name, call(272, flag))
    told('clone ' + name, call(56, flag | 17, 0, 0, 0, 0))
told('clone3', call(435, 0, 0))
told('setns', call(308, os.open('/proc/self/ns/user', os.O_RDONLY), 0))
for name, number in (('ptrace', 101), ('readv', 310), ('keyctl', 250), ('add_key', 248), ('bpf', 321), ('handle', 304), ('fanotify', 300), ('quotactl', 179), ('io_uring', 425)):
    told(name, call(number, 16, 1, 0, 0, 0))
told('block device', tried(os.mknod, '/workspace/disk', 0o60600, os.makedev(7, 0)))
told('memory device', tried(os.mknod, '/workspace/mem', 0o20600, os.makedev(1, 1)))
told('user of no one', tried(os.chown, '/workspace/at', 70000, 70000))
told('hostname', 0 if own else call(170, b'mine', 4))
told('loop', tried(open, '/dev/loop-control', 'r+b'))
for path in ('/sys/x', '/sys/fs/cgroup/x', '/usr/x', '/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/opt/atoll/agent.cjs'):
    told('write ' + path, tried(open, path, 'w'))
limits = [os.path.join(at, name) for root in ('/sys/fs/cgroup', '/opt/atoll/cgroup') for at, _, names in os.walk(root) for name in names
    if name.endswith(('.max', '_in_bytes', 'cfs_quota_us', '.high')) or (root == '/sys/fs/cgroup' and name in ('cgroup.procs', 'tasks', 'release_agent'))]
told('limits seen', len(limits))
told('limits', len(limits) and [it for it in limits if tried(open, it, 'r+b') == 0] or 0)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
import fcntl, struct
told('interface', tried(fcntl.ioctl, s, 0x8914, struct.pack('16sh14x', b'lo', 0)))
told('raw socket', tried(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1))
before = os.stat('/')
os.makedirs('/workspace/jail/deep', exist_ok=True)
os.chdir('/workspace')
told('chroot', tried(os.chroot, '/workspace/jail/deep'))
for _ in range(64): os.chdir('..')
told('chroot out', tried(os.chroot, '.'))
after = os.stat('/')
told('outside', 0 if (after.st_dev, after.st_ino) == (before.st_dev, before.st_ino) else sorted(os.listdir('/')))
`
