import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emptyUsage } from "@bonsai-agent/messages";
import {
  type Entry,
  type EntryDraft,
  openSession,
  type Session,
  type SessionHeader,
} from "@bonsai-agent/session";
import { writeSessionFile } from "@bonsai-agent/session/host";
import { exportMarkdown, importTranscript } from "@bonsai-agent/transcripts";
import { describe, expect, test } from "vitest";

const HEADER: SessionHeader = {
  type: "session",
  version: 3,
  id: "s1",
  timestamp: "2026-01-02T03:04:05.000Z",
  cwd: "/a|b",
};

const folder = mkdtempSync(join(tmpdir(), "bonsai-export-"));
let files = 0;

/** A stored session of entries in a row, or wherever `parentId` puts them. */
function sessionOf(drafts: Array<EntryDraft & { id?: string; parentId?: string | null }>): Session {
  let last: string | null = null;
  const entries = drafts.map(({ type, ...fields }, index) => {
    const id = fields.id ?? `e${index + 1}`;
    const timestamp = `2026-01-02T03:04:1${index % 10}.000Z`;
    const entry = { type, parentId: last, timestamp, ...fields, id } as Entry;
    last = id;
    return entry;
  });
  return stored(HEADER, entries);
}

function stored(header: SessionHeader, entries: readonly Entry[]): Session {
  files += 1;
  const file = join(folder, `${files}.jsonl`);
  writeSessionFile({ file, header, entries });
  return openSession(file);
}

const user = (content: string): EntryDraft => ({
  type: "message",
  message: { role: "user", content, timestamp: 0 },
});
const answer = (content: object[], more: object = {}): EntryDraft =>
  ({
    type: "message",
    message: {
      role: "assistant",
      content,
      api: "a",
      provider: "p",
      model: "m",
      usage: { ...emptyUsage(), input: 1234, output: 5 },
      stopReason: "stop",
      timestamp: 0,
      ...more,
    },
  }) as EntryDraft;
const result = (value: string): EntryDraft => ({
  type: "message",
  message: {
    role: "toolResult",
    toolCallId: "c",
    toolName: "bash",
    content: [{ type: "text", text: value }],
    isError: false,
    timestamp: 0,
  },
});

describe("exportMarkdown", () => {
  test("golden: a session with everything in it", () => {
    const { header, entries } = importTranscript({
      path: join(import.meta.dirname, "fixtures/opencode-export.json"),
    });
    const session = stored(header, entries);
    const golden = join(import.meta.dirname, "golden/opencode-export.md");
    expect(exportMarkdown(session)).toBe(readFileSync(golden, "utf8"));
  });

  test("fences in content do not end the block around them", () => {
    const text = exportMarkdown(sessionOf([result("before\n```ts\nlet a;\n````\nafter")]));
    expect(text).toContain("`````\nbefore\n```ts\nlet a;\n````\nafter\n`````");
  });

  test("HTML is escaped outside of code, an open fence is closed", () => {
    const text = exportMarkdown(
      sessionOf([user("<script>alert(1)</script> and `<b>` and 1 < 2\n```html\n<i>"), user("next")]),
    );
    expect(text).toContain(
      "&lt;script>alert(1)&lt;/script> and `<b>` and 1 < 2\n```html\n<i>\n```\n\n## User",
    );
  });

  test("a template is the line that was typed, what it made of the line is folded", () => {
    const message = { role: "user", content: "Review\nsrc.", typed: "/review src", timestamp: 0 };
    const markdown = exportMarkdown(sessionOf([{ type: "message", message } as EntryDraft]), {});
    expect(markdown).toContain("\n\n/review src\n\n<details>\n<summary>/review (2 lines)</summary>");
  });

  test("files that were sent with a message are folded under their names", () => {
    const sent = 'See @<b>.md\n\n<file path="<b>.md">\n# All\n```\nof it\n</file>';
    const text = exportMarkdown(sessionOf([user(sent)]));
    expect(text).toContain(
      "See @&lt;b>.md\n\n<details>\n<summary>&lt;b&gt;.md (3 lines)</summary>\n\n````\n# All\n```\nof it\n````\n\n</details>",
    );
  });

  test("a tool's name and a summary cannot open a tag", () => {
    const text = exportMarkdown(
      sessionOf([{ type: "custom_message", customType: "</summary><img>", content: "x", display: false }]),
    );
    expect(text).toContain("<summary>Note from &lt;/summary&gt;&lt;img&gt;</summary>");
  });

  test("says what the model sees instead of a masked result, which is shown in full", () => {
    const session = sessionOf([
      { ...result("secret of the sea"), id: "r" },
      {
        type: "context_edit",
        targetId: "r",
        replacement: { content: [{ type: "text", text: "[cleared]" }] },
      },
    ]);
    const text = exportMarkdown(session);
    expect(text).toContain("<summary>Result of bash (1 line); the model sees: [cleared]</summary>");
    expect(text).toContain("secret of the sea");
  });

  test.each([
    ["a model without a price", undefined, "unknown"],
    ["a free model", (model: string) => model === "p/m", "free of charge"],
  ])("the cost of %s, also for its summaries, is told as it is", (_, isFree, cost) => {
    const summary = {
      type: "branch_summary",
      summary: "astray",
      fromId: "x",
      usage: { ...emptyUsage(), input: 9 },
    };
    const session = sessionOf([user("one"), answer([]), summary as EntryDraft]);
    expect(exportMarkdown(session, { isFree })).toContain(`| Cost | ${cost} |`);
  });

  test("compactions, undone ones, branch summaries and labels are marked", () => {
    const text = exportMarkdown(
      sessionOf([
        { ...user("one"), id: "u" },
        { type: "label", targetId: "u", label: "start" },
        { type: "compaction", id: "c1", summary: "# Goal\nsail", firstKeptEntryId: "u", tokensBefore: 12345 },
        { type: "custom", customType: "bonsai.undo", data: { compactionId: "c1" } },
        { type: "branch_summary", summary: "went astray", fromId: "x1" },
        { type: "branch_summary", summary: "went well", fromId: "x2", isMerge: true },
        { type: "branch_summary", summary: "went off", fromId: "" },
      ]),
    );
    expect(text).toContain("*Label: start*\n\n## User");
    expect(text).toContain(
      "**Compacted from 12,345 tokens; kept everything from `u` on; undone later**\n\n> # Goal\n> sail",
    );
    expect(text).toContain("**Summary of another branch up to `x1`**\n\n> went astray");
    expect(text).toContain("**Summary of a merged branch up to `x2`**\n\n> went well");
    expect(text).toContain("**Summary of another branch**\n\n> went off");
  });

  test("a compaction tells what its summary left out, wherever that is recorded", () => {
    const count = { kept: 1, lost: 0, putBack: 0 };
    const terms = { kept: 2, lost: 1, putBack: 0 };
    const lostTerms = [{ term: "a_*b*_c", entryId: "u" }];
    const loss = { failing: count, irreversible: count, openTodos: count, requests: count, terms, lostTerms };
    const summary = { type: "compaction", summary: "sail", firstKeptEntryId: "u", tokensBefore: 1 } as const;
    const told =
      "*Missing from the summary: 1 of 3 terms.*\n\n*Missing terms, most used first: a\\_\\*b\\*\\_c (u).*\n\n> sail";
    const ours = [
      { ...user("one"), id: "u" },
      { ...summary, details: { manifest: { loss } } },
    ];
    const beside = { type: "custom", customType: "bonsai.beside", data: { loss } } as const;
    const another = [{ ...user("one"), id: "u" }, beside, { ...summary, fromHook: true }];
    for (const entries of [ours, another]) expect(exportMarkdown(sessionOf(entries))).toContain(told);
  });

  test("a short call is one line, a long one has its arguments folded", () => {
    const call = (value: string) => ({ type: "toolCall", id: "c", name: "write", arguments: { value } });
    const text = exportMarkdown(sessionOf([answer([call("short `tick`"), call("long ".repeat(40))])]));
    expect(text).toContain('**Tool call** ``write(value="short `tick`")``');
    expect(text).toContain("<summary>Arguments</summary>\n\n```json\n{");
  });

  test("one branch by default, all on request, another by its leaf", () => {
    const session = sessionOf([
      { ...user("root"), id: "r" },
      { ...user("left"), id: "l" },
      { type: "custom", customType: "bonsai.leaf", id: "mark", parentId: "l" },
      { ...user("right"), id: "g", parentId: "r" },
    ]);
    expect(exportMarkdown(session)).not.toContain("left");
    expect(exportMarkdown(session, { leafId: "l" })).not.toContain("right");
    const all = exportMarkdown(session, { all: true });
    expect(all.match(/^root$/gm)).toHaveLength(1);
    expect(all).toContain("# Branch from `r`\n\n## User");
    expect(() => exportMarkdown(session, { leafId: "nowhere" })).toThrowError(
      expect.objectContaining({ code: "entry_not_found" }),
    );
  });

  test("secrets are redacted and counted", () => {
    const key = `ghp_${"a1B2".repeat(9)}`;
    const text = exportMarkdown(sessionOf([user(`use ${key}`), result(key)]));
    expect(text).not.toContain(key);
    expect(text.endsWith("*2 secrets redacted.*\n")).toBe(true);
  });

  test("damaged entries do not stop it", () => {
    const session = sessionOf([
      { type: "message" } as EntryDraft,
      { type: "message", message: { role: "user" } } as unknown as EntryDraft,
      { type: "message", message: { role: "assistant" } } as unknown as EntryDraft,
      { type: "hologram" } as unknown as EntryDraft,
    ]);
    expect(exportMarkdown(session)).toContain("# Session");
  });
});
