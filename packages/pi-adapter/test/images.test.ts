import { crc32, deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { resizeImage } from "../src/modules/images.ts";

/** A PNG whose left half is black and whose right half is white. */
function png(width: number, height: number): Uint8Array {
  const chunk = (name: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(name), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const row = Buffer.alloc(width + 1, 255).fill(0, 0, width / 2);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", pixels),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

test("an image within bounds stays as it is, a larger one is made smaller", async () => {
  const small = png(40, 20);
  expect(await resizeImage(small, "image/png")).toEqual({
    data: Buffer.from(small).toString("base64"),
    mimeType: "image/png",
    ...{ originalWidth: 40, originalHeight: 20, width: 40, height: 20, wasResized: false },
  });
  const resized = (await resizeImage(png(300, 100), "image/png", { maxWidth: 60 }))!;
  expect(resized).toMatchObject({ width: 60, height: 20, wasResized: true });
  const tiny = (await resizeImage(png(300, 100), "image/png", { maxBytes: 400 }))!;
  expect(tiny.data.length).toBeLessThan(400);
  expect(await resizeImage(Buffer.from("no image"), "image/png")).toBeNull();
});
