import { crc32, deflateSync } from "node:zlib";
import { everyRow } from "@bonsai-agent/testkit";
import { PhotonImage } from "@silvia-odwyer/photon-node";
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

/** A JPEG of the image with an orientation. */
function photo(bytes: Uint8Array, orientation: number): Uint8Array {
  const jpeg = Buffer.from(PhotonImage.new_from_byteslice(bytes).get_bytes_jpeg(90));
  const tiff = Buffer.from([
    0x4d,
    0x4d,
    0,
    42,
    0,
    0,
    0,
    8,
    0,
    1,
    1,
    0x12,
    0,
    3,
    0,
    0,
    0,
    1,
    0,
    orientation,
    0,
    0,
  ]);
  const exif = Buffer.concat([Buffer.from("Exif\0\0"), tiff]);
  return Buffer.concat([
    jpeg.subarray(0, 2),
    Buffer.from([0xff, 0xe1, 0, exif.length + 2]),
    exif,
    jpeg.subarray(2),
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

/** The dark corners: top left, top right, bottom left, bottom right. */
function darkCorners(data: string): boolean[] {
  const image = PhotonImage.new_from_byteslice(Buffer.from(data, "base64"));
  const [width, height, pixels] = [image.get_width(), image.get_height(), image.get_raw_pixels()];
  const corners = [
    [0, 0],
    [width - 1, 0],
    [0, height - 1],
    [width - 1, height - 1],
  ] as const;
  return corners.map(([x, y]) => pixels[(y * width + x) * 4]! < 100);
}

const orientations: [number, boolean[]][] = [
  [1, [true, false, true, false]],
  [2, [false, true, false, true]],
  [3, [false, true, false, true]],
  [4, [true, false, true, false]],
  [5, [true, true, false, false]],
  [6, [true, true, false, false]],
  [7, [false, false, true, true]],
  [8, [false, false, true, true]],
];

test("photos are turned upright", () =>
  everyRow(orientations)(async ([orientation, dark]) => {
    const held = photo(png(80, 20), orientation);
    const resized = (await resizeImage(held, "image/jpeg", { maxWidth: 40, maxHeight: 40 }))!;
    const isTurned = orientation > 4;
    expect([resized.width, resized.height]).toEqual(isTurned ? [10, 40] : [40, 10]);
    expect(darkCorners(resized.data)).toEqual(dark);
  }));
