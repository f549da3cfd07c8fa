import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageText } from "@bonsai-agent/messages";
import { openSession, repairSession, type Session } from "@bonsai-agent/session";
import { type DamageName, damagedSessions, damageFindings, generateSession } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";

const root = mkdtempSync(join(tmpdir(), "bonsai-repair-"));
afterAll(() => rmSync(root, { recursive: true }));

let files = 0;
function written(bytes: Uint8Array | string): string {
  const file = join(root, `${files++}.jsonl`);
  writeFileSync(file, bytes);
  return file;
}
const newFile = () => join(root, `${files++}.jsonl`);

function texts(session: Session): string[] {
  return session.projection().items.map(({ message }) => messageText(message));
}

const damaged = Object.entries(damagedSessions()) as [DamageName, Buffer][];

test("a file that is no session is refused by name, and no copy is made", () => {
  for (const [name, bytes] of damaged) {
    const code = damageFindings[name];
    if (typeof code !== "string") continue;
    const [file, out] = [written(bytes), newFile()];
    const refused = expect.objectContaining({ code });
    expect.soft(() => openSession(file).problems(), name).toThrow(refused);
    expect.soft(() => repairSession(file, out), name).toThrow(refused);
    expect.soft(() => readFileSync(out), name).toThrow("ENOENT");
    expect.soft(readFileSync(file), name).toEqual(bytes);
  }
});

test("every damage is diagnosed, and has a repaired copy that is sound and shows the model the same", () => {
  for (const [name, bytes] of damaged) {
    const kinds = damageFindings[name];
    if (typeof kinds === "string") continue;
    const [file, out] = [written(bytes), newFile()];
    const found = openSession(file).problems();
    expect
      .soft(
        found.map(({ kind }) => kind),
        name,
      )
      .toEqual(kinds);
    repairSession(file, out);
    expect.soft(openSession(out).problems(), name).toEqual([]);
    expect.soft(texts(openSession(out)), name).toEqual(texts(openSession(file)));
    expect.soft(readFileSync(file), name).toEqual(bytes);
  }
});

test("sound lines are copied byte for byte", () => {
  const { file } = generateSession({ file: newFile(), entries: 200, branchiness: 0.3, compactions: 2 });
  const out = newFile();
  repairSession(file, out);
  expect(readFileSync(out, "utf8")).toBe(readFileSync(file, "utf8"));
});

test("a copy never takes the place of a file", () => {
  const { file } = generateSession({ file: newFile(), entries: 20 });
  expect(() => repairSession(file, file)).toThrow(expect.objectContaining({ code: "session_exists" }));
});

test("a compaction that keeps from an id used twice keeps the same messages in the copy", () => {
  const stamp = '"timestamp":"2026-01-05T09:00:00.000Z"';
  const message = (id: string, parent: string | null, text: string) =>
    `{"type":"message","id":"${id}","parentId":${JSON.stringify(parent)},${stamp},"message":{"role":"user","content":"${text}","timestamp":0}}`;
  const compaction = (id: string, parent: string, kept: string) =>
    `{"type":"compaction","id":"${id}","parentId":"${parent}",${stamp},"summary":"${id}","firstKeptEntryId":"${kept}","tokensBefore":1}`;
  const header = `{"type":"session","version":3,"id":"s",${stamp},"cwd":"/p"}`;
  const kept = (...lines: string[]) => {
    const [file, out] = [written(`${[header, ...lines].join("\n")}\n`), newFile()];
    repairSession(file, out);
    expect(openSession(out).problems()).toEqual([]);
    expect(texts(openSession(out))).toEqual(texts(openSession(file)));
    return texts(openSession(out));
  };
  const [a, b, secondA] = [
    message("a", null, "first a"),
    message("b", "a", "b"),
    message("a", "b", "second a"),
  ];
  // The nearest ancestor of that id counts, wherever another one is in the file.
  expect(kept(a, b, secondA, message("c", "a", "c"), compaction("k", "c", "a"))).toEqual([
    "k",
    "second a",
    "c",
  ]);
  expect(
    kept(a, b, compaction("k", "b", "a"), message("a", null, "another root"), message("c", "k", "c")),
  ).toEqual(["k", "first a", "b", "c"]);
});

test("a compaction on a later branch that lost what it keeps is found, and keeps all of its branch in the copy", () => {
  const stamp = '"timestamp":"2026-01-05T09:00:00.000Z"';
  const message = (id: string, parent: string | null) =>
    `{"type":"message","id":"${id}","parentId":${JSON.stringify(parent)},${stamp},"message":{"role":"user","content":"${id}","timestamp":0}}`;
  const lines = [
    `{"type":"session","version":3,"id":"s",${stamp},"cwd":"/p"}`,
    ...[message("root", null), message("left", "root"), message("right", "root")],
    `{"type":"compaction","id":"k","parentId":"right",${stamp},"summary":"k","firstKeptEntryId":"nowhere","tokensBefore":1}`,
  ];
  const [file, out] = [written(`${lines.join("\n")}\n`), newFile()];
  expect(openSession(file).problems()).toHaveLength(1);
  repairSession(file, out);
  expect(openSession(out).entry("k")).toMatchObject({ firstKeptEntryId: "root" });
  expect(openSession(out).problems()).toEqual([]);
});

test("compactions that lost what they keep are mended in one walk, undone ones passed over", () => {
  const stamp = '"timestamp":"2026-01-05T09:00:00.000Z"';
  const message = (id: string, parent: string) =>
    `{"type":"message","id":"${id}","parentId":${parent},${stamp},"message":{"role":"user","content":"${id}","timestamp":0}}`;
  const compaction = (id: string, parent: string, kept: string) =>
    `{"type":"compaction","id":"${id}","parentId":"${parent}",${stamp},"summary":"${id}","firstKeptEntryId":"${kept}","tokensBefore":1}`;
  const undo = `{"type":"custom","customType":"bonsai.undo","data":{"compactionId":"c2"},"id":"z","parentId":"c2",${stamp}}`;
  const lines = [
    `{"type":"session","version":3,"id":"s",${stamp},"cwd":"/p"}`,
    ...[message("u1", "null"), message("u2", '"u1"'), message("u3", '"u2"')],
    ...[compaction("c1", "u3", "u2"), compaction("c2", "c1", "u3"), undo, compaction("c3", "z", "nowhere")],
    ...Array.from({ length: 4_000 }, (_, n) => compaction(`d${n}`, n === 0 ? "c3" : `d${n - 1}`, "nowhere")),
  ];
  const [file, out] = [written(`${lines.join("\n")}\n`), newFile()];
  repairSession(file, out);
  expect(openSession(out).problems()).toEqual([]);
  expect(texts(openSession(out))).toEqual(["d3999", "u2", "u3"]);
  expect(texts(openSession(file))).toEqual(["d3999", "u2", "u3"]);
});

test("law: whatever happens to the bytes, the copy is sound and loses nothing that the model saw", () => {
  const { file } = generateSession({
    file: newFile(),
    entries: 40,
    averageBytes: 500,
    branchiness: 0.2,
    compactions: 1,
    tailEntries: 10,
  });
  const sound = readFileSync(file);
  const damage = fc.record({
    at: fc.nat({ max: sound.length - 200 }).map((at) => at + 150),
    bytes: fc.uint8Array({ maxLength: 12 }),
    cut: fc.nat(300),
  });
  fc.assert(
    fc.property(fc.array(damage, { minLength: 1, maxLength: 4 }), (damages) => {
      let bytes = sound;
      for (const { at, bytes: put, cut } of damages) {
        bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + cut)]);
      }
      const [damaged, out] = [written(bytes), newFile()];
      repairSession(damaged, out);
      expect(openSession(out).problems()).toEqual([]);
      expect(texts(openSession(out))).toEqual(texts(openSession(damaged)));
    }),
  );
});
