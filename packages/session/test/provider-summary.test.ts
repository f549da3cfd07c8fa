import { expect, test } from "vitest";
import { createSession, customTypes, type Session } from "../src/index.ts";

const items = [{ type: "compaction", content: "All mended.", encrypted_content: "meta", signature: "s" }];
const provider = {
  api: "anthropic-messages",
  provider: "anthropic",
  model: "claude-opus-5-5",
  items,
  tokens: 3,
};

function compacted(details: unknown = { provider }): {
  session: Session;
  ids: string[];
  compactionId: string;
} {
  const session = createSession({ cwd: "/project" });
  const ids = ["one", "two", "three"].map(
    (content) => session.append({ type: "message", message: { role: "user", content, timestamp: 1 } }).id,
  );
  const kept = { firstKeptEntryId: ids[2]!, tokensBefore: 9 };
  const { id } = session.append({ type: "compaction", summary: "Readable.", ...kept, details });
  return { session, ids, compactionId: id };
}

function shown(session: Session): unknown {
  const [first] = session.projection().items;
  return first?.message.role === "compactionSummary" ? first.message.provider : undefined;
}

test("the compaction's message has the provider's summary as it was stored", () => {
  const { session } = compacted();
  expect(JSON.stringify(shown(session))).toBe(JSON.stringify(provider));
  session.append({ type: "message", message: { role: "user", content: "four", timestamp: 1 } });
  expect(shown(session)).toEqual(provider);
});

test("an edit of a summarised message ends the use of the provider's summary", () => {
  const { session, ids } = compacted();
  session.append({ type: "context_edit", targetId: ids[2]!, replacement: { content: "edited" } });
  expect(shown(session)).toEqual(provider);
  session.append({ type: "context_edit", targetId: ids[0]!, replacement: null });
  expect(shown(session)).toBeUndefined();
  expect(session.projection().items[0]?.message).toMatchObject({ summary: "Readable." });
});

test("a refusal ends the use of the provider's summary on its branch only", () => {
  const { session, compactionId } = compacted();
  const { leafId } = session;
  session.append({ type: "custom", customType: customTypes.refusedSummary, data: { compactionId } });
  expect(shown(session)).toBeUndefined();
  session.moveTo(leafId);
  expect(shown(session)).toEqual(provider);
});

test("an undo hides the provider's summary, and a redo shows it again", () => {
  const { session, compactionId } = compacted();
  session.append({ type: "custom", customType: customTypes.undo, data: { compactionId } });
  expect(shown(session)).toBeUndefined();
  session.append({ type: "custom", customType: customTypes.redo, data: { compactionId } });
  expect(shown(session)).toEqual(provider);
});

test("ignores a damaged summary of the provider", () => {
  const damaged = [null, 7, [], { items }, { ...provider, items: [] }, { ...provider, items: ["x"] }];
  for (const each of damaged) expect(shown(compacted({ provider: each }).session)).toBeUndefined();
  expect(shown(compacted({ provider: { ...provider, tokens: -1 } }).session)).toMatchObject({ tokens: 0 });
});
