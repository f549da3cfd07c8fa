import { createWriteStream, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { agentSettings } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import { createSession, openSession } from "@bonsai-agent/session";
import { damagedSessions } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ZipFile } from "yazl";
import { importArchive } from "../../src/call/archive/archive-import.ts";
import { writeArchive } from "../../src/call/archive/session-archive.ts";
import { header, sampleLines, testFolder, writeLines } from "./sample-session.ts";

const settings = agentSettings({});

async function exported(path: string, secrets?: readonly string[]): Promise<string> {
  const file = join(testFolder(), "session.bonsai");
  const session = openSession(path);
  await writeArchive({ session, file, settings, secrets, cwd: testFolder() });
  session.close();
  return file;
}

function imported(path: string, home = testFolder(), file?: string) {
  return importArchive({ path, place: { home }, settings, cwd: testFolder(), file });
}

function written(content: Buffer | string): string {
  const path = join(testFolder(), "original.jsonl");
  writeFileSync(path, content);
  return path;
}

const SECRET = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUv12";

const unit = fc.constantFrom(...'a1 _-=:"\\/\n\0\u2028\ud800é日', "🌳");
const anyString = fc.string({ unit, maxLength: 30 });
const anyEntry = fc
  .record({
    type: fc.constantFrom("message", "hologram", "custom", "label", "compaction"),
    id: fc.nat(0xffff_ffff).map((number) => number.toString(16).padStart(8, "0")),
    parentId: fc.constantFrom(null, "00000001"),
    message: fc.record({ role: fc.constant("user"), content: anyString }),
    data: fc.jsonValue(),
  })
  .map((entry) => JSON.stringify(entry));
const anyLine = fc.oneof(
  { weight: 8, arbitrary: anyEntry.map((line) => Buffer.from(line)) },
  anyEntry.map((line) => Buffer.from(line.slice(0, line.length / 2))),
  anyEntry.map((line) => Buffer.from(line.replaceAll('":', '" : '))),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc
    .integer({ min: 1, max: 300_000 })
    .map((size) => Buffer.from(JSON.stringify({ type: "x", data: "y".repeat(size) }))),
);
const anyFile = fc
  .record({
    version: fc.constantFrom(undefined, 1, 2, 3, 99),
    lines: fc.array(anyLine, { maxLength: 12 }),
    newline: fc.constantFrom("\n", "\r\n", "\n\n"),
    end: fc.constantFrom("", "\n", "\n\0\0\0"),
  })
  .map(({ version, lines, newline, end }) => {
    const parts = [Buffer.from(JSON.stringify({ ...header, version })), ...lines];
    return Buffer.concat([
      ...parts.flatMap((part, at) => (at === 0 ? [part] : [Buffer.from(newline), part])),
      Buffer.from(end),
    ]);
  });

test("an export without redaction is imported byte for byte, whatever the lines are", async () => {
  await fc.assert(
    fc.asyncProperty(anyFile, async (content) => {
      const { file, outcome } = await imported(await exported(written(content)));
      expect([outcome, readFileSync(file!).equals(content)]).toEqual(["imported", true]);
    }),
    { numRuns: 12 },
  );
});

test("damaged sessions without a secret are imported byte for byte, also with redaction", async () => {
  for (const [name, content] of Object.entries(damagedSessions())) {
    const archive = await exported(written(content), []).catch((error: Error) => error);
    if (BonsaiError.is(archive)) expect(["session_empty", "not_a_session"]).toContain(archive.code);
    else {
      const { file } = await imported(archive as string);
      expect([name, readFileSync(file!).equals(content)]).toEqual([name, true]);
    }
  }
});

/** A text with the secret, or without it: the rest of the line has to stay. */
const anyText = fc
  .tuple(anyString, fc.constantFrom("", ` ${SECRET} `, ' password="hunter2-abc9" '), fc.string())
  .map((parts) => parts.join(" "));

test("redaction changes only texts with a secret: ids, types and structure stay", async () => {
  const masks = /\[redacted: [\w ]+\]/g;
  const shape = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return typeof value;
    return Object.entries(value).map(([key, each]) => [key.replaceAll(masks, ""), shape(each)]);
  };
  await fc.assert(
    fc.asyncProperty(fc.array(anyText, { minLength: 1, maxLength: 6 }), async (texts) => {
      const lines = [
        header,
        ...texts.map((content, at) => ({
          ...{ type: "message", id: `0000000${at}`, parentId: at === 0 ? null : `0000000${at - 1}` },
          ...{
            message: { role: "user", content },
            data: { number: 1.5, [content.slice(0, 5)]: [content, null] },
          },
        })),
      ];
      const path = writeLines(lines);
      const { file } = await imported(await exported(path, []));
      const [before, after] = [path, file!].map((each) => readFileSync(each, "utf8").split("\n"));
      expect(after).toHaveLength(before!.length);
      for (const [at, line] of after!.entries()) {
        if (!/sk-ant|hunter2/.test(before![at]!)) expect(line).toBe(before![at]);
        expect(line).not.toMatch(/sk-ant|hunter2/);
        if (line === "") continue;
        const [old, entry] = [JSON.parse(before![at]!), JSON.parse(line)];
        expect([entry.id, entry.parentId, entry.type]).toEqual([old.id, old.parentId, old.type]);
        expect(shape(entry)).toEqual(shape(old));
      }
    }),
    { numRuns: 12 },
  );
});

test("a secret is redacted in earlier and in damaged lines, and an equal id stays", async () => {
  const said = (id: string, content: string, parentId: string | null = null) => ({
    ...{ type: "message", id, parentId },
    message: { role: "user", content },
  });
  const path = writeLines([
    header,
    said("0000000a", "it was zq81-rtw4-kkp2"),
    { ...said("abcd1234", "export DB_PASSWORD=zq81-rtw4-kkp2", "0000000a"), type: "hologram" },
    said("0000000c", "password: abcd1234", "abcd1234"),
  ]);
  writeFileSync(path, `${readFileSync(path, "utf8")}{"torn":"zq81-rtw4-kkp2 ${SECRET}`);
  const { file } = await imported(await exported(path, ["the-stored-key"]));
  const text = readFileSync(file!, "utf8");
  expect(text).not.toMatch(/zq81|sk-ant/);
  expect(
    text
      .split("\n")
      .slice(1, 4)
      .map((line) => JSON.parse(line).id),
  ).toEqual(["0000000a", "abcd1234", "0000000c"]);
  expect(JSON.parse(text.split("\n")[3]!).parentId).toBe("abcd1234");
});

test("redaction keeps the escapes of other programs, and finds a field that a line has twice", async () => {
  const line = (text: string) =>
    `{"type" : "hologram","id":"0000000a","parentId":null,"number":1.50,"text":"caf\\u00e9 \\/ ${text} \\u003c"}`;
  const twice = `{"type":"x","a":"${SECRET}","a":"b"}`;
  const path = written([JSON.stringify(header), line(SECRET), twice, ""].join("\n"));
  const { file } = await imported(await exported(path, []));
  const mask = "[redacted: API key]";
  const expected = [JSON.stringify(header), line(mask), twice.replace(SECRET, mask), ""].join("\n");
  expect(readFileSync(file!, "utf8")).toBe(expected);
});

test("an import continues a known session, adds a branch to it, or finds it complete", async () => {
  const home = testFolder();
  const path = writeLines(sampleLines());
  const { file } = await imported(await exported(path), home);
  expect(await imported(await exported(path), home)).toMatchObject({ outcome: "present", bytes: 0, file });
  const say = (where: string, content: string) => {
    const session = openSession(where);
    session.append({ type: "message", message: { role: "user", content, timestamp: 1 } });
    session.close();
  };
  say(path, "there");
  expect(await imported(await exported(path), home)).toMatchObject({ outcome: "continued", file });
  expect(readFileSync(file!).equals(readFileSync(path))).toBe(true);
  say(file!, "here");
  expect(await imported(await exported(path), home)).toMatchObject({ outcome: "present" });
  say(path, "there again");
  expect(await imported(await exported(path), home)).toMatchObject({ outcome: "branched" });
  const session = openSession(file!);
  expect(JSON.stringify(session.path().at(-1))).toContain('"here"');
  expect(JSON.stringify(session.entries())).toContain("there again");
  expect(session.problems()).toEqual([]);
  session.close();
  expect(await imported(await exported(path), home)).toMatchObject({ outcome: "present" });
  const copy = join(testFolder(), "copy.jsonl");
  expect(await imported(await exported(path), home, copy)).toMatchObject({ outcome: "imported", file: copy });
  expect(readFileSync(copy).equals(readFileSync(path))).toBe(true);
});

test("the sessions of sub-agents come along, redacted", async () => {
  const path = writeLines(sampleLines());
  const folder = path.replace(".jsonl", ".tasks");
  mkdirSync(folder);
  const task = createSession({ cwd: "/work", file: join(folder, "one.jsonl") });
  task.append({ type: "message", message: { role: "user", content: `Use ${SECRET}`, timestamp: 1 } });
  task.close();
  const { file, taskCount } = await imported(await exported(path, []));
  const copy = readFileSync(join(file!.replace(".jsonl", ".tasks"), "one.jsonl"), "utf8");
  expect([taskCount, copy.split("\n").length, copy.includes("sk-ant")]).toEqual([1, 3, false]);
});

/** An archive of a session whose files are replaced, left out or added. */
async function made(files: Record<string, string | undefined>): Promise<string> {
  const manifest = { format: "bonsai-session", version: 1, redacted: false, settings: {} };
  const own = {
    "manifest.json": JSON.stringify(manifest),
    "session.jsonl": sampleLines()
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(""),
  };
  const zip = new ZipFile();
  for (const [name, content] of Object.entries({ ...own, ...files }))
    if (content !== undefined) zip.addBuffer(Buffer.from(content), name);
  zip.end();
  const path = join(testFolder(), "made.bonsai");
  await pipeline(zip.outputStream, createWriteStream(path));
  return path;
}

async function refused(path: string): Promise<string> {
  const home = testFolder();
  const error = await imported(path, home).catch((thrown: unknown) => thrown);
  expect(readdirSync(home, { recursive: true }).filter((name) => name !== "sessions")).toEqual([]);
  return BonsaiError.is(error) ? error.code : `no error: ${String(error)}`;
}

test("hostile and damaged archives are refused and leave nothing", async () => {
  const manifest = (fields: object) => ({
    "manifest.json": JSON.stringify({
      ...{ format: "bonsai-session", version: 1, redacted: false, settings: {}, ...fields },
    }),
  });
  expect(await refused(await made(manifest({ version: 2, settings: [] })))).toBe("archive_too_new");
  const damages = [
    await made({ "manifest.json": undefined }),
    await made({ "manifest.json": "{" }),
    await made(manifest({ format: "other" })),
    await made(manifest({ settings: { a: { b: 1 } } })),
    await made(manifest({ settings: { ["x".repeat(200)]: 1 } })),
    await made({ "manifest.json": `"${"x".repeat(2 ** 20)}"` }),
    await made({ "session.jsonl": undefined }),
    await made({ "session.jsonl": "no session" }),
    written(""),
    written("PK\x03\x04 and no more"),
  ];
  for (const path of damages) expect(await refused(path)).toBe("archive_damaged");
  const whole = await made({ "session.jsonx": "x", "zz/evil.txt": "y" });
  const patched = (from: string, to: string) =>
    written(Buffer.from(readFileSync(whole).toString("latin1").replaceAll(from, to), "latin1"));
  expect(await refused(patched("zz/evil.txt", "../evil.txt"))).toBe("archive_damaged");
  expect(await refused(patched("zz/evil.txt", "/z/evil.txt"))).toBe("archive_damaged");
  expect(await refused(patched("session.jsonx", "session.jsonl"))).toBe("archive_damaged");
});

test("an encrypted file, and one with another compression, are errors that say so", async () => {
  const whole = readFileSync(await made({}));
  const header = whole.lastIndexOf("session.jsonl") - 46;
  for (const [at, value] of [
    [8, 1],
    [10, 14],
  ] as const) {
    const bytes = Buffer.from(whole);
    bytes[header + at] = value;
    await expect(imported(written(bytes))).rejects.toThrow(
      /its session.jsonl is encrypted, or compressed by another method/,
    );
  }
});

test("an import shows no setting that this Bonsai does not have", async () => {
  const settings = JSON.parse('{"__proto__": 1, "constructor": 2, "keys": 3, "compaction.enabled": false}');
  const manifest = { format: "bonsai-session", version: 1, redacted: false, settings };
  expect(await imported(await made({ "manifest.json": JSON.stringify(manifest) }))).toMatchObject({
    settings: [{ name: "compaction.enabled", value: false, here: true }],
  });
});

test("a file of the archive that is not named like a task is never written", async () => {
  const home = testFolder();
  const { file, taskCount } = await imported(
    await made({ "session.tasks/a/b.jsonl": "x", "session.tasks/..jsonl": "x", other: "y" }),
    home,
  );
  expect(taskCount).toBe(1);
  expect(
    readdirSync(home, { recursive: true }).filter((name) => statSync(join(home, String(name))).isFile()),
  ).toEqual(expect.arrayContaining([file!.slice(home.length + 1)]));
});

test("a file that would fill the disk is refused before it is unpacked", async () => {
  const path = await made({});
  const bytes = readFileSync(path);
  const at = bytes.lastIndexOf("session.jsonl");
  // The uncompressed size in the central directory.
  bytes.writeUInt32LE(2 ** 31, at - 46 + 24);
  writeFileSync(path, bytes);
  const error = await imported(path).catch((thrown: Error) => thrown);
  expect(error).toMatchObject({ code: "archive_damaged", message: expect.stringContaining("fill the disk") });
});

test("an archive that is cut off or changed at any byte is refused, or has the same session", async () => {
  const original = writeLines(sampleLines());
  const whole = readFileSync(await exported(original));
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.boolean(), async (at, isCut) => {
      const bytes = Buffer.from(isCut ? whole.subarray(0, at) : whole);
      if (!isCut) bytes[at]! ^= 0x15;
      const path = join(testFolder(), "changed.bonsai");
      writeFileSync(path, bytes);
      const result = await imported(path).catch((thrown: unknown) => thrown as Error);
      if (result instanceof Error) expect(BonsaiError.is(result) && result.code).toMatch(/^archive_/);
      else expect(readFileSync(result.file!).equals(readFileSync(original))).toBe(true);
    }),
    { numRuns: 30 },
  );
});
