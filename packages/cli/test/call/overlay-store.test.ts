import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSession, MemoryStore, openSession, type SessionStore } from "@bonsai-agent/session";
import { sessionStoreCases } from "@bonsai-agent/session/store-conformance";
import { describe, expect, test } from "vitest";
import { OverlayStore } from "../../src/call/session-copy.ts";
import { testFolder } from "./sample-session.ts";

const pathOf = (name: string) => join(testFolder(), name);
const said = (content: string) =>
  ({ type: "message", message: { role: "user", content, timestamp: 0 } }) as const;

describe("conformance: overlay", () => {
  const factory = {
    create: (content: string) => new OverlayStore(new MemoryStore(content)),
    reopen: (store: SessionStore) => store,
  };
  for (const { name, run } of sessionStoreCases(factory)) test(name, run);
});

test("entries appended to an overlay do not reach the store below it", () => {
  const session = createSession({ cwd: "/", file: pathOf("below.jsonl") });
  const first = session.append(said("kept"));
  const before = readFileSync(session.file!);
  const over = openSession({ store: new OverlayStore(session.store) });
  const tried = over.append(said("tried"));
  expect(tried.parentId).toBe(first.id);
  session.append(said("others"));
  expect(over.projection().items.map(({ entryId }) => entryId)).toEqual([first.id, tried.id]);
  expect(over.entries()).toHaveLength(2);
  expect(readFileSync(session.file!).subarray(0, before.length)).toEqual(before);
  expect(readFileSync(session.file!, "utf8")).not.toContain("tried");
});
