import { BonsaiError } from "@bonsai-agent/messages";
import { MemoryStore, openSession } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { exportMarkdown } from "@bonsai-agent/transcripts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { base, HEADER, oddSession } from "../../session/test/odd-session.ts";

const timestamp = "2026-01-05T09:00:00.000Z";

function exported(lines: readonly string[]): string {
  return exportMarkdown(openSession({ store: new MemoryStore(`${lines.join("\n")}\n`) }), { all: true });
}

test("law: a session in which any field holds anything is exported", () => {
  fc.assert(
    fc.property(oddSession, (lines) => {
      try {
        expect(exported(lines.map((line) => JSON.stringify(line)))).toMatch(/^# /);
      } catch (error) {
        if (!BonsaiError.is(error)) throw error;
      }
    }),
  );
});

test("deeply nested arguments and content are exported as far as they can be", () =>
  everyRow([5_000, 100_000])((depth) => {
    const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`;
    const says = (id: string, parentId: string | null, content: string) =>
      `{"type":"message","id":"${id}","parentId":${JSON.stringify(parentId)},"timestamp":"${timestamp}","message":{"role":"assistant","content":${content}}}`;
    const text = exported([
      JSON.stringify(HEADER),
      says("a", null, `[{"type":"toolCall","id":"t","name":"read","arguments":{"path":${deep}}}]`),
      says("b", "a", deep),
      says("c", "b", '[{"type":"text","text":"the end"}]'),
    ]);
    expect(text).toContain("read(");
    expect(text).toContain("the end");
    expect(base("x", null).timestamp).toBe(timestamp);
  }));
