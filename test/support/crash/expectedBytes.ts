const lineBytes = 8

/** The output of these tests' commands: lines of eight bytes, 0000000, 0000001, … */
export const expectedBytes = (from: number, length: number) => {
  const first = Math.floor(from / lineBytes)
  const last = Math.ceil((from + length) / lineBytes)
  let text = ""
  for (let line = first; line < last; line++) text += `${String(line).padStart(lineBytes - 1, "0")}\n`
  return Buffer.from(text)
    .subarray(from - first * lineBytes)
    .subarray(0, length)
}
