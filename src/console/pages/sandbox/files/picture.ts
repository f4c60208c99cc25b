/**
 * Detects a picture's type and size from its header, so that a picture that would decode to gigabytes is never decoded.
 *
 * Only raster formats: SVG is a document.
 *
 * @source PNG (W3C) 5.2 and 11.2.1; GIF89a 17, 18; JFIF/ITU-T T.81 B.2.2; WebP container specification
 */

export interface Picture {
  readonly type: "image/png" | "image/gif" | "image/jpeg" | "image/webp"
  readonly width: number
  readonly height: number
}

const startsWith = (bytes: Uint8Array, at: number, text: string): boolean =>
  [...text].every((character, index) => bytes[at + index] === character.charCodeAt(0))

const jpegSize = (view: DataView): { readonly width: number; readonly height: number } | null => {
  for (let at = 2; at + 9 < view.byteLength; ) {
    if (view.getUint8(at) !== 0xff) return null
    const marker = view.getUint8(at + 1)
    // A frame header: SOF0 to SOF15, except DHT, JPG and DAC, whose codes are in the same range.
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
      return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) }
    }
    at += 2 + view.getUint16(at + 2)
  }
  return null
}

const webpSize = (view: DataView, bytes: Uint8Array): { readonly width: number; readonly height: number } | null => {
  if (startsWith(bytes, 12, "VP8X")) {
    const three = (at: number) => view.getUint16(at, true) + view.getUint8(at + 2) * 65_536 + 1
    return { width: three(24), height: three(27) }
  }
  if (startsWith(bytes, 12, "VP8L")) {
    const bits = view.getUint32(21, true)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  if (startsWith(bytes, 12, "VP8 ")) {
    return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff }
  }
  return null
}

/** @param bytes The beginning of the file. Null: another type, or an incomplete header. */
export const pictureOf = (bytes: Uint8Array<ArrayBuffer>): Picture | null => {
  if (bytes.byteLength < 32) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (startsWith(bytes, 0, "\u0089PNG\r\n\u001a\n")) {
    return { type: "image/png", width: view.getUint32(16), height: view.getUint32(20) }
  }
  if (startsWith(bytes, 0, "GIF8")) {
    return { type: "image/gif", width: view.getUint16(6, true), height: view.getUint16(8, true) }
  }
  if (startsWith(bytes, 0, "\u00ff\u00d8\u00ff")) {
    const size = jpegSize(view)
    return size === null ? null : { type: "image/jpeg", ...size }
  }
  if (startsWith(bytes, 0, "RIFF") && startsWith(bytes, 8, "WEBP")) {
    const size = webpSize(view, bytes)
    return size === null ? null : { type: "image/webp", ...size }
  }
  return null
}
