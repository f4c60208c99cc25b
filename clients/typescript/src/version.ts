/** Of this library, as its package.json has it. */
export const libraryVersion = "0.4.0"
