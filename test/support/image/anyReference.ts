/** Simulated hosts have this image; real ones refuse it immediately, because its registry has the address of the host itself. */
export const anyReference = "127.0.0.1:1/tools:1"
