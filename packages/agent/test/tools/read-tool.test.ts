import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, openSync, symlinkSync, truncateSync, writeSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { textOf, toolFolder } from "./tool-folder.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const gif = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");
const jpeg = Buffer.from("ffd8ffe000104a46494600010100000100010000ffda000801010000003f0005ffd9", "hex");
const webp = Buffer.concat([
  Buffer.from("RIFF"),
  Buffer.from([26, 0, 0, 0]),
  Buffer.from("WEBPVP8L\r\0\0\0/\0\0\0\0\0\0\0\0\0\0\0\0\0"),
]);

describe("text", () => {
  const texts: [string, string | Buffer, string][] = [
    ["lines with their ends", "one\ntwo\n", "one\ntwo\n"],
    ["a last line without an end", "one\ntwo", "one\ntwo"],
    ["an empty file", "", "[The file is empty.]"],
    ["a byte-order mark left out", "\ufeffone\n", "one\n"],
    [
      "CRLF shown as LF",
      "one\r\ntwo\r\n",
      "one\ntwo\n\n[Line endings are CRLF, shown as LF; edit keeps them.]",
    ],
    ["a lone carriage return kept", "one\rtwo\n", "one\rtwo\n"],
    [
      "UTF-16 with a mark",
      Buffer.from("\ufeffgrün\n", "utf16le"),
      "grün\n\n[file is written in UTF-16LE; edit keeps this encoding.]",
    ],
    [
      "big-endian UTF-16 with a mark",
      Buffer.from("\ufeffgrün\n", "utf16le").swap16(),
      "grün\n\n[file is written in UTF-16BE; edit keeps this encoding.]",
    ],
    [
      "UTF-16 without a mark",
      Buffer.from("plain words\n", "utf16le"),
      "plain words\n\n[file is written in UTF-16LE; edit keeps this encoding.]",
    ],
    [
      "text from before UTF-8",
      Buffer.from("grün\n", "latin1"),
      "grün\n\n[file is not UTF-8 and is shown as Windows-1252. edit cannot change it.]",
    ],
  ];
  test("is shown with its lines, and its encoding is named", async () => {
    for (const [name, content, expected] of texts) {
      using folder = toolFolder();
      folder.write("file", content);
      expect.soft(textOf(await folder.run("read", { path: "file" })), name).toBe(expected);
    }
  });

  test("a part says how to go on, and the next part follows it", async () => {
    using folder = toolFolder();
    folder.write("file", "1\n2\n3\n4\n5\n");
    const first = await folder.run("read", { path: "file", offset: 2, limit: 2 });
    expect(textOf(first)).toBe("2\n3\n\n[Lines 2 to 3 of 5. Continue with offset=4.]");
    expect(first.details).toMatchObject({ firstLine: 2, lastLine: 3, totalLines: 5, truncated: true });
    expect(textOf(await folder.run("read", { path: "file", offset: 4 }))).toBe("4\n5\n");
  });

  test("2,000 lines are the most, whatever is asked", async () => {
    using folder = toolFolder();
    folder.write("file", "x\n".repeat(2_001));
    const result = await folder.run("read", { path: "file", limit: 5_000 });
    expect(result.details).toMatchObject({ lastLine: 2_000, totalLines: 2_001 });
    folder.write("file", "x\n".repeat(2_000));
    expect((await folder.run("read", { path: "file" })).details).toMatchObject({ truncated: false });
  });

  test("a long line is cut on a character, says its length and how to see the rest", async () => {
    using folder = toolFolder();
    folder.write("file", `short\n${"ü".repeat(20_000)}\nend\n`);
    const text = textOf(await folder.run("read", { path: "file" }));
    expect(text).toContain(`\n${"ü".repeat(5_000)}… [line cut: it has 40,000 bytes]\nend\n`);
    expect(text).toContain("[Long lines were cut (2).");
  });

  test("an offset beyond the end is refused with the number of lines", async () => {
    using folder = toolFolder();
    folder.write("file", "1\n2\n");
    await expect(folder.run("read", { path: "file", offset: 3 })).rejects.toThrow(
      "file has 2 lines; there is no line 3.",
    );
  });

  test("a huge file is read by parts, without its lines being counted", async () => {
    using folder = toolFolder();
    const file = folder.write("huge", "first\nsecond\n");
    truncateSync(file, 2 ** 30);
    const descriptor = openSync(file, "r+");
    writeSync(descriptor, "x\n".repeat(4_000), 13);
    closeSync(descriptor);
    const before = process.memoryUsage().arrayBuffers;
    const result = await folder.run("read", { path: "huge", limit: 2 });
    expect(textOf(result)).toBe(
      "first\nsecond\n\n[Lines 1 to 2 of a file of 1.1 GB. Continue with offset=3.]",
    );
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 << 20);
  });

  test("a line in two chunks of the file is read whole", async () => {
    using folder = toolFolder();
    const lines = Array.from({ length: 250_000 }, (_, index) => `line ${index + 1}\n`);
    const text = lines.join("");
    folder.write("file", text);
    const split = text.slice(0, 1 << 20).split("\n").length;
    const result = await folder.run("read", { path: "file", offset: split, limit: 1 });
    expect(textOf(result)).toContain(lines[split - 1]!);
  });

  test("parts put together are the file", async () => {
    using folder = toolFolder();
    const line = fc
      .string({ unit: "grapheme", maxLength: 30 })
      .map((text) => text.replaceAll("\n", "").replace(/\r$/, ""));
    const content = fc
      .tuple(fc.array(line, { minLength: 1, maxLength: 40 }), fc.boolean())
      .map(([lines, isEnded]) => lines.join("\n") + (isEnded ? "\n" : ""))
      .filter(
        (text) => !text.includes("\0") && text !== "" && !text.startsWith("\ufeff") && text.isWellFormed(),
      );
    await fc.assert(
      fc.asyncProperty(content, fc.integer({ min: 1, max: 50 }), async (text, limit) => {
        folder.write("file", text);
        let whole = "";
        let offset: number | undefined = 1;
        while (offset !== undefined) {
          const { content: blocks, details } = await folder.run("read", { path: "file", offset, limit });
          const { lastLine, truncated } = details as { lastLine: number; truncated: boolean };
          if (blocks[0]?.type === "text") whole += blocks[0].text;
          offset = truncated ? lastLine + 1 : undefined;
        }
        expect(whole).toBe(text);
      }),
    );
  });

  test("an abort ends the reading", async () => {
    using folder = toolFolder();
    folder.write("file", "x\n");
    await expect(folder.run("read", { path: "file" }, { signal: AbortSignal.abort() })).rejects.toThrow();
  });
});

describe("images and other files", () => {
  const images = [
    ["image/png", png],
    ["image/gif", gif],
    ["image/jpeg", jpeg],
    ["image/webp", webp],
  ] as const;
  test("an image is shown, also under another name", async () => {
    for (const [mimeType, bytes] of images) {
      using folder = toolFolder();
      folder.write("picture.txt", bytes);
      const { content } = await folder.run("read", { path: "picture.txt" });
      expect.soft(content[1], mimeType).toEqual({ type: "image", mimeType, data: bytes.toString("base64") });
    }
  });

  const badImages = [
    [
      "a side that is too long",
      Buffer.concat([png.subarray(0, 16), Buffer.from([0, 0, 0x23, 0x28]), png.subarray(20)]),
      "9,000 x 1 pixels",
    ],
    ["a missing end", png.subarray(0, 50), "the file is incomplete"],
    ["a missing end", jpeg.subarray(0, 25), "the file is incomplete"],
  ] as const;
  test("an unusable image is refused", async () => {
    for (const [name, bytes, words] of badImages) {
      using folder = toolFolder();
      folder.write("shot.png", bytes);
      await expect.soft(folder.run("read", { path: "shot.png" }), name).rejects.toThrow(words);
    }
  });

  test("an image that is too large is refused with its size", async () => {
    using folder = toolFolder();
    folder.write("big.png", Buffer.concat([png, Buffer.alloc(5 << 20)]));
    await expect(folder.run("read", { path: "big.png" })).rejects.toThrow(
      "The image big.png (image/png) has 5.2 MB; at most 5.2 MB can be shown.",
    );
  });

  const binaries: [string, Buffer, string][] = [
    ["a PDF", Buffer.from("%PDF-1.7\n1 0 obj\n"), "file is not text: application/pdf, 17 bytes."],
    ["a zip", Buffer.from("504b0304140000000800", "hex"), "file is not text: application/zip, 10 bytes."],
    ["zeros", Buffer.alloc(2_000), "file is not text: unknown binary data, 2 kB."],
  ];
  test("a binary file is refused by kind and size", async () => {
    for (const [name, bytes, expected] of binaries) {
      using folder = toolFolder();
      folder.write("file", bytes);
      await expect.soft(folder.run("read", { path: "file" }), name).rejects.toThrow(expected);
    }
  });

  test("a folder points to ls", async () => {
    using folder = toolFolder();
    await expect(folder.run("read", { path: "." })).rejects.toThrow(". is a folder. Use ls");
  });

  test("a pipe, a device and a socket are refused without a wait", async () => {
    using folder = toolFolder({ paths: { allow: ["/dev"] } });
    execFileSync("mkfifo", [join(folder.path, "pipe")]);
    await expect(folder.run("read", { path: "pipe" })).rejects.toThrow("pipe is a named pipe, not a file.");
    await expect(folder.run("read", { path: "/dev/zero" })).rejects.toThrow(
      "/dev/zero is a device, not a file.",
    );
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(folder.path, "socket"), resolve));
    await expect(folder.run("read", { path: "socket" })).rejects.toThrow("socket is a socket, not a file.");
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("names", () => {
  const wrongNames = [
    ["a slip", "src/indx.ts", "There is no src/indx.ts. Did you mean src/index.ts?"],
    ["letters in the wrong order", "src/inedx.ts", "Did you mean src/index.ts?"],
    ["another case", "src/INDEX.ts", "Did you mean src/index.ts?"],
    ["a missing folder", "lib/index.ts", "There is no lib/index.ts: the nearest folder that exists is"],
    ["nothing like it", "src/quite-different.json", "There is no src/quite-different.json. Use ls or find"],
    ["a file taken for a folder", "src/index.ts/x", "There is no src/index.ts/x: the nearest folder"],
  ] as const;
  test("a wrong name gets an answer that helps", async () => {
    for (const [name, path, expected] of wrongNames) {
      using folder = toolFolder();
      folder.write("src/index.ts", "x");
      await expect.soft(folder.run("read", { path }), name).rejects.toThrow(expected);
    }
  });

  const unusualNames = [
    ["decomposed accents", "re\u0301sume\u0301.txt", "r\u00e9sum\u00e9.txt"],
    ["the narrow space of screenshots", "Shot at 9.41.00\u202fAM.txt", "Shot at 9.41.00 AM.txt"],
    ["a typographic apostrophe", "it\u2019s.txt", "it's.txt"],
  ] as const;
  test("a name with unusual characters is found by its plain form", async () => {
    for (const [name, stored, asked] of unusualNames) {
      using folder = toolFolder();
      folder.write(stored, "found");
      expect.soft(textOf(await folder.run("read", { path: asked })), name).toBe("found");
    }
  });

  test("a link that goes round in a circle is named as such", async () => {
    using folder = toolFolder();
    symlinkSync("b", join(folder.path, "a"));
    symlinkSync("a", join(folder.path, "b"));
    await expect(folder.run("read", { path: "a" })).rejects.toThrow("its symbolic links form a loop");
  });

  test("a name that is too long is named as such", async () => {
    using folder = toolFolder();
    await expect(folder.run("read", { path: "x".repeat(300) })).rejects.toThrow("the name is too long");
  });

  test("a file that may not be read says so", async () => {
    using folder = toolFolder();
    const file = folder.write("closed", "x");
    chmodSync(file, 0);
    mkdirSync(join(folder.path, "other"));
    const reading = folder.run("read", { path: "closed" });
    // Root may read everything.
    if (process.getuid?.() === 0) expect(textOf(await reading)).toBe("x");
    else await expect(reading).rejects.toThrow("Reading closed failed: permission denied.");
  });
});
