/** `npm run test:fleet` runs this suite over a fleet. */
export const isOverAFleet = process.env["ATOLL_TEST_FLEET"] === "1"
