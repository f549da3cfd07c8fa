import { messageText } from "@bonsai-agent/messages";
import { describe, expect, test } from "vitest";
import { MemoryStore, openSession, type Session } from "../src/index.ts";
import { abc, BASE, damageCases, file } from "./damage-cases.ts";

const textsSeen = (session: Session) => session.projection().items.map(({ message }) => messageText(message));

test("the model sees every whole message of a damaged file", () => {
  for (const { name, content, sees } of damageCases)
    expect.soft(textsSeen(openSession({ store: new MemoryStore(content) })), name).toEqual(sees);
});

test("each damage is reported by line and kind", () => {
  for (const { name, content, problems } of damageCases) {
    const found = openSession({ store: new MemoryStore(content) }).problems();
    expect
      .soft(
        found.map(({ line, kind }) => [line, kind]),
        name,
      )
      .toEqual(problems);
  }
});

test("opening a damaged file writes nothing, and an append is seen at the next opening", () => {
  for (const { name, content, sees } of damageCases) {
    const store = new MemoryStore(content);
    const session = openSession({ store });
    session.problems();
    expect.soft(store.size(), name).toBe(Buffer.byteLength(content));
    if (session.readOnly !== undefined) continue;
    session.append({ type: "message", message: { role: "user", content: "next", timestamp: 0 } });
    expect.soft(textsSeen(openSession({ store })), name).toEqual([...sees, "next"]);
  }
});

describe("files that cannot be opened", () => {
  const files = [
    ["empty", "", "session_empty"],
    ["blank", "\n \n", "session_empty"],
    ["a list", "# Shopping list\n\n- milk\n", "not_a_session"],
    ["binary", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0]), "not_a_session"],
    ["other JSON lines", '{"level":"info"}\n{"level":"warn"}\n', "not_a_session"],
    ["zero bytes", Buffer.alloc(5000), "not_a_session"],
  ] as const;
  test("are refused by name, and stay as they are", () => {
    for (const [name, content, code] of files) {
      const store = new MemoryStore(content);
      expect
        .soft(() => openSession({ store }), name)
        .toThrow(expect.objectContaining({ code, hint: expect.any(String) }));
      expect.soft(store.size(), name).toBe(Buffer.byteLength(content));
    }
  });
});

describe("a file of a future version", () => {
  const store = new MemoryStore(file(...abc).replace('"version":3', '"version":99'));

  test("is read, and says why it is not written to", () => {
    const session = openSession({ store });
    expect(session.projection().items).toHaveLength(3);
    expect(session.readOnly).toContain("99");
    expect(session.notices).toEqual([{ code: "read_only", message: expect.stringContaining("99") }]);
    expect(() => session.append({ type: "session_info", name: "x" })).toThrow(
      expect.objectContaining({ code: "session_read_only" }),
    );
    expect(() => session.moveTo("a")).toThrow(expect.objectContaining({ code: "session_read_only" }));
    expect(session.leafId).toBe("c");
  });
});

test("a store that cannot be written to is read", () => {
  const session = openSession({ store: new MemoryStore(file(...abc), "the disk is sealed.") });
  expect(session.readOnly).toBe("the disk is sealed.");
  expect(() => session.append({ type: "session_info", name: "x" })).toThrow(/sealed/);
  expect(session.leafId).toBe("c");
});

test("an entry of unknown type keeps its fields", () => {
  const line =
    '{"type":"hologram","id":"h","parentId":null,"timestamp":"2026-01-05T09:00:00.000Z","depth":[1,{"x":"}"}]}';
  const session = openSession({ store: new MemoryStore(file(line)) });
  expect(session.entry("h")).toEqual(JSON.parse(line));
});

test.each([
  { before: "entries", lines: abc, leafId: "c" },
  { before: "no entry", lines: [], leafId: null },
])(
  "a record of a moved leaf that names itself as its parent is not the leaf after $before",
  ({ lines, leafId }) => {
    const moved = JSON.stringify({
      type: "custom",
      id: "m",
      parentId: "m",
      ...BASE,
      customType: "bonsai.leaf",
    });
    const session = openSession({ store: new MemoryStore(file(...lines, moved)) });
    expect(session.leafId).toBe(leafId);
  },
);
