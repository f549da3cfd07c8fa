/**
 * Random bytes as hexadecimal digits. From the global Web Crypto: it is loaded at its first use, while an import of
 * `node:crypto` costs every opening 3 MB.
 */
export function randomHex(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
}
