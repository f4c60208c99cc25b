/** The settings of what a Sandbox is allotted: the sizes that a request leaves open, and the bounds of those that it names. */
import { integer, tenths } from "./Setting.ts"

export const sizeSettings = {
  volumeBytes: integer(
    "ATOLL_VOLUME_BYTES",
    4 * 1024 ** 3,
    "Size of the volume of a Sandbox whose request names none."
  ),
  volumeBytesMin: integer("ATOLL_VOLUME_BYTES_MIN", 256 * 1024 ** 2, "Smallest volume that a request may name."),
  volumeBytesMax: integer("ATOLL_VOLUME_BYTES_MAX", 64 * 1024 ** 3, "Largest volume that a request may name."),
  sandboxVcpus: tenths("ATOLL_SANDBOX_VCPUS", 1, "Virtual CPUs of a Sandbox whose request names none.", {
    minimum: 0.1,
    maximum: 1024
  }),
  sandboxVcpusMin: tenths("ATOLL_SANDBOX_VCPUS_MIN", 0.1, "Fewest virtual CPUs that a request may name.", {
    minimum: 0.1,
    maximum: 1024
  }),
  sandboxVcpusMax: tenths(
    "ATOLL_SANDBOX_VCPUS_MAX",
    0,
    "Most virtual CPUs that a request may name; 0: as many as the service's machine has processors.",
    { minimum: 0, maximum: 1024 }
  ),
  sandboxMemoryBytes: integer(
    "ATOLL_SANDBOX_MEMORY_BYTES",
    512 * 1024 ** 2,
    "Memory of a Sandbox whose request names none."
  ),
  sandboxMemoryBytesMin: integer(
    "ATOLL_SANDBOX_MEMORY_BYTES_MIN",
    256 * 1024 ** 2,
    "Least memory that a request may name."
  ),
  sandboxMemoryBytesMax: integer(
    "ATOLL_SANDBOX_MEMORY_BYTES_MAX",
    0,
    "Most memory that a request may name; 0: half of what the service's machine has."
  )
}
