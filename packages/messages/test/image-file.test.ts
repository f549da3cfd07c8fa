import { describe, expect, test } from "vitest";
import { imageProblem } from "../src/host.ts";

const be16 = (value: number) => [value >> 8, value & 255];
const be32 = (value: number) => [0, 0, ...be16(value)];
const le16 = (value: number) => [value & 255, value >> 8];
const text = (value: string) => [...Buffer.from(value, "latin1")];

const makers: Record<string, (width: number, height: number) => number[]> = {
  png: (width, height) => [
    ...text("\x89PNG\r\n\x1a\n"),
    ...[...be32(13), ...text("IHDR"), ...be32(width), ...be32(height), 8, 2, 0, 0, 0, 1, 2, 3, 4],
    ...[...be32(4), ...text("IDAT"), 9, 9, 9, 9, 1, 2, 3, 4],
    ...[...be32(0), ...text("IEND"), 1, 2, 3, 4],
  ],
  jpeg: (width, height) => [
    ...[0xff, 0xd8, 0xff, 0xe1, ...be16(8), ...text("Ex"), 0xff, 0xd9, 7, 7],
    ...[0xff, 0xc2, ...be16(11), 8, ...be16(height), ...be16(width), 1, 1, 0x11, 0],
    ...[0xff, 0xda, ...be16(8), 1, 1, 0, 0, 63, 0, 5, 5, 5, 5, 0xff, 0xd9],
  ],
  gif: (width, height) => [...text("GIF89a"), ...le16(width), ...le16(height), 0, 0, 0, 5, 5, 5, 0x3b],
  "webp (VP8X)": (width, height) => [
    ...[...text("RIFF"), 30, 0, 0, 0, ...text("WEBPVP8X"), 10, 0, 0, 0, 0, 0, 0, 0],
    ...[...le16(width - 1), 0, ...le16(height - 1), 0, 1, 2, 3, 4, 5, 6, 7, 8],
  ],
  "webp (VP8)": (width, height) => [
    ...[...text("RIFF"), 26, 0, 0, 0, ...text("WEBPVP8 "), 14, 0, 0, 0, 0, 0, 0, 0x9d, 1, 0x2a],
    ...[...le16(width), ...le16(height), 1, 2, 3, 4],
  ],
};

describe.each(Object.entries(makers))("%s", (_name, make) => {
  test("is sound with sides of 8,000 pixels at most", () => {
    expect(imageProblem(Uint8Array.from(make(8_000, 50)))).toBeUndefined();
    expect(imageProblem(Uint8Array.from(make(9_000, 50)))).toContain("9,000 x 50 pixels");
    expect(imageProblem(Uint8Array.from(make(50, 9_000)))).toContain("50 x 9,000 pixels");
  });

  test("is incomplete wherever it is cut off", () => {
    const bytes = Uint8Array.from(make(60, 50));
    expect(imageProblem(bytes)).toBeUndefined();
    for (const length of [12, Math.floor(bytes.length * 0.8), bytes.length - 3])
      expect([length, imageProblem(bytes.subarray(0, length))]).toEqual([
        length,
        expect.stringContaining("incomplete"),
      ]);
  });
});

test("other formats have no known problem", () => {
  for (const value of ["", "x", "plain text", "%PDF-1.7"])
    expect(imageProblem(Buffer.from(value))).toBeUndefined();
});
