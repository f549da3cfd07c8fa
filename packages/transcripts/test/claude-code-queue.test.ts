import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { type ImportResult, importTranscript } from "@bonsai-agent/transcripts";
import { afterAll, describe, expect, test } from "vitest";
import { projectionText } from "./projection-text.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-queue-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

type Row = Record<string, unknown>;

/** Writes rows, each a second after the one before. */
function imported(...rows: Row[]): ImportResult {
  const path = join(folder, `${files++}.jsonl`);
  const lines = rows.map((row, at) =>
    JSON.stringify({
      sessionId: "s",
      ...(row.type === "queue-operation" ? {} : { isSidechain: false, cwd: "/p", version: "2.1.42" }),
      timestamp: `2026-02-10T09:00:${String(at).padStart(2, "0")}.000Z`,
      ...row,
    }),
  );
  writeFileSync(path, `${lines.join("\n")}\n`);
  return importTranscript({ path });
}

const user = (uuid: string, parentUuid: string | null, content: unknown, more: Row = {}): Row => ({
  ...{ type: "user", uuid, parentUuid, message: { role: "user", content } },
  ...more,
});
const answer = (
  uuid: string,
  parentUuid: string | null,
  id: string,
  content: Row[],
  more: Row = {},
): Row => ({
  type: "assistant",
  uuid,
  parentUuid,
  message: { role: "assistant", id, model: "claude-sonnet-4-5", content, usage: { input_tokens: 1 } },
  ...more,
});
const call = (id: string): Row => ({ type: "tool_use", id, name: "Bash", input: { command: id } });
const says = (text: string): Row => ({ type: "text", text });
const result = (id: string): Row => ({ type: "tool_result", tool_use_id: id, content: `ran ${id}` });
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } };
const queue = (operation: string, content?: unknown, more: Row = {}): Row => ({
  ...{ type: "queue-operation", operation },
  ...(content === undefined ? {} : { content }),
  ...more,
});
const queued = (uuid: string, parentUuid: string, prompt: unknown): Row => ({
  ...{ type: "attachment", uuid, parentUuid },
  attachment: { type: "queued_command", prompt, commandMode: "prompt" },
});

const BEGIN = [user("u1", null, "Mend it."), answer("a1", "u1", "m1", [call("one")])];
const seen = (result: ImportResult) => projectionText(result);
const users = (result: ImportResult) => seen(result).filter((line) => line.startsWith("U "));
const kinds = (result: ImportResult) =>
  result.report.notices.map(({ kind, lines }) => `${kind} ${lines.join(",")}`.trim());

/** A turn with one call, what happens in the queue meanwhile, and its end. */
const during = (...rows: Row[]) =>
  imported(...BEGIN, ...rows, user("r1", "a1", [result("one")]), answer("a2", "r1", "m2", [says("Done.")]));

const SEEN = ["U Mend it.", "A Bash(one)", "R Bash ran one"];

describe("Claude Code: what was typed while the agent worked", () => {
  test("stands where it was delivered, on the current branch", () => {
    const imported = during(queue("enqueue", "Keep the names."), queue("remove"));
    expect(seen(imported)).toEqual([...SEEN, "U Keep the names.", "A Done."]);
    expect(kinds(imported)).toEqual(["queued_messages 4"]);
    const stored = imported.entries.find((entry) => entry.timestamp === "2026-02-10T09:00:03.000Z");
    expect(stored).toMatchObject({ type: "message", message: { role: "user", content: "Keep the names." } });
  });

  const DELIVERED: Array<[what: string, rows: Row[], words: string[]]> = [
    [
      "with the reason of later versions",
      [queue("enqueue", "A"), queue("remove", "A", { reason: "absorbed_mid_turn" })],
      ["A"],
    ],
    [
      "several of the same words",
      [queue("enqueue", "go on"), queue("enqueue", "go on"), queue("remove"), queue("remove")],
      ["go on", "go on"],
    ],
    [
      "in the order of the removals",
      [queue("enqueue", "A"), queue("enqueue", "B"), queue("remove", "B"), queue("remove", "A")],
      ["B", "A"],
    ],
    [
      "first in, first out where removals have no words",
      [queue("enqueue", "A"), queue("enqueue", "B"), queue("remove")],
      ["A"],
    ],
    ["as blocks with an image", [queue("enqueue", [says("See"), image]), queue("remove")], ["See | <image>"]],
    ["an image alone", [queue("enqueue", [image]), queue("remove")], ["<image>"]],
    ["whose typing is not in the file", [queue("remove", "A")], ["A"]],
    ["back in the editor", [queue("enqueue", "A"), queue("popAll", "A")], []],
    [
      "withdrawn for another reason",
      [queue("enqueue", "A"), queue("remove", "A", { reason: "cancelled" })],
      [],
    ],
    ["with a removal too many", [queue("enqueue", "A"), queue("remove"), queue("remove")], ["A"]],
    [
      "in another session of the file",
      [
        queue("enqueue", "A"),
        queue("enqueue", "B", { sessionId: "t" }),
        queue("remove"),
        queue("popAll", undefined, { sessionId: "t" }),
      ],
      ["A"],
    ],
  ];
  test.each(DELIVERED)("%s", (_, rows, words) => {
    expect(users(during(...rows)).slice(1)).toEqual(words.map((each) => `U ${each}`));
  });

  test("no twice: one that left the queue for a record of its own", () => {
    for (const operations of [[queue("dequeue")], [queue("dequeue", "B")], []]) {
      const both = imported(
        ...BEGIN,
        ...[queue("enqueue", "A"), queue("enqueue", "B"), queue("remove", "A")],
        ...[user("r1", "a1", [result("one")]), answer("a2", "r1", "m2", [says("Done.")])],
        ...operations,
        ...[user("u2", "a2", "B"), answer("a3", "u2", "m3", [says("Also done.")])],
      );
      expect(seen(both)).toEqual([...SEEN, "U A", "A Done.", "U B", "A Also done."]);
      expect(kinds(both)).toEqual(["queued_messages 5"]);
    }
  });

  test("not twice: one that an attachment, or a record of results, carries too", () => {
    const carriers: Array<[content: unknown, prompt: unknown]> = [
      ["Keep  it.", "Keep it."],
      [undefined, "Keep it."],
      [
        [says("Keep it."), image],
        [says("Keep it."), image],
      ],
    ];
    for (const [content, prompt] of carriers) {
      const rows = [queue("enqueue", content), queued("q", "r1", prompt), queue("remove", content)];
      const result1 = imported(
        ...BEGIN,
        user("r1", "a1", [result("one")]),
        ...rows,
        answer("a2", "q", "m2", [says("Done.")]),
      );
      expect(users(result1)).toHaveLength(2);
    }
    const beside = imported(
      ...[...BEGIN, queue("enqueue", "Keep it."), queue("remove")],
      user("r1", "a1", [result("one"), says("Keep it.")]),
      answer("a2", "r1", "m2", [says("Done.")]),
    );
    expect(seen(beside)).toEqual([...SEEN, "U Keep it.", "A Done."]);
  });

  test("two prompts with the same words: the one in an attachment is not doubled, the other stays", () => {
    const twice = imported(
      ...[...BEGIN, queue("enqueue", "go on"), queue("remove"), user("r1", "a1", [result("one")])],
      ...[answer("a2", "r1", "m2", [call("two")]), user("r2", "a2", [result("two")])],
      ...[queue("enqueue", "go on"), queued("q", "r2", "go on"), queue("remove", "go on")],
      answer("a3", "q", "m3", [says("Done.")]),
    );
    expect(seen(twice)).toEqual([
      ...[...SEEN, "U go on", "A Bash(two)", "R Bash ran two", "U go on", "A Done."],
    ]);
  });

  test("a prompt that waits at the end is kept as a note that the model does not see", () => {
    for (const rows of [
      [queue("enqueue", "Then rest.")],
      [queue("enqueue", "Then rest."), queue("dequeue")],
    ]) {
      const open = imported(...BEGIN, user("r1", "a1", [result("one")]), ...rows);
      expect(seen(open)).toEqual(SEEN);
      expect(kinds(open)).toEqual(["queue_left 4"]);
      expect(open.entries.at(-1)).toMatchObject({
        ...{ type: "custom", customType: "bonsai.import.queued", data: { content: "Then rest." } },
      });
    }
  });

  test("at the end of a file, between parallel results, and before an interruption", () => {
    const rows = [queue("enqueue", "A"), queue("remove")];
    const parallel = [
      user("u1", null, "Mend it."),
      answer("a1", "u1", "m1", [call("one")]),
      answer("a1b", "a1", "m1", [call("two")]),
    ];
    const [r1, r2] = [user("r1", "a1", [result("one")]), user("r2", "a1b", [result("two")])];
    const SAID = ["U Mend it.", "A Bash(one) | Bash(two)", "R Bash ran one", "R Bash ran two", "U A"];
    expect(seen(imported(...parallel, r1!, ...rows, r2!))).toEqual(SAID);
    expect(seen(imported(...parallel, ...rows, r1!, r2!))).toEqual(SAID);
    expect(seen(imported(...parallel, r1!, r2!, ...rows))).toEqual(SAID);
    const stopped = user("i", "r2", [says("[Request interrupted by user]")]);
    expect(seen(imported(...parallel, r1!, ...rows, r2!, stopped)).slice(4)).toEqual([
      ...["U A", "A ", "[claude-code.injected] [Request interrupted by user]"],
    ]);
  });

  test("while a sub-agent works, and before the user goes back", () => {
    const rows = [queue("enqueue", "A"), queue("remove")];
    const side = { isSidechain: true, agentId: "x" };
    const withAgent = imported(
      ...[
        ...BEGIN,
        user("s1", null, "Look.", side),
        rows[0]!,
        answer("s2", "s1", "n1", [says("Seen.")], side),
      ],
      ...[rows[1]!, user("r1", "a1", [result("one")]), answer("a2", "r1", "m2", [says("Done.")])],
    );
    expect(seen(withAgent)).toEqual([...SEEN, "U A", "A Done."]);
    const back = imported(
      ...[...BEGIN, user("r1", "a1", [result("one")]), ...rows],
      ...[user("u2", null, "Anew."), answer("a2", "u2", "m2", [says("Yes.")])],
    );
    expect(seen(back)).toEqual(["U Anew.", "A Yes."]);
    expect(back.report.counts.user).toBe(3);
  });

  test("a notification of the program is not the user's", () => {
    const note = "<task-notification><status>completed</status></task-notification>";
    expect(seen(during(queue("enqueue", note), queue("remove", note))).at(-2)).toMatch(
      /^\[claude-code.injected\]/,
    );
  });
});

describe("Claude Code: words beside results", () => {
  const parallel = [
    user("u1", null, "Mend it."),
    answer("a1", "u1", "m1", [call("one")]),
    answer("a2", "a1", "m1", [call("two")]),
    answer("a3", "a2", "m1", [call("three")]),
  ];
  const CALLS = ["U Mend it.", "A Bash(one) | Bash(two) | Bash(three)"];
  const END = answer("a4", "r3", "m2", [says("Done.")]);

  const AMONG: Array<[what: string, rows: Row[], projection: string[]]> = [
    [
      "stand behind all results of the answer",
      [
        user("r1", "a1", [result("one"), says("Mind the step.")]),
        user("r2", "a2", [result("two")]),
        user("r3", "a3", [result("three")]),
      ],
      ["R Bash ran one", "R Bash ran two", "R Bash ran three", "U Mind the step."],
    ],
    [
      "in several records, with an image",
      [
        user("r1", "a1", [result("one"), says("A"), image]),
        user("r2", "a2", [says("B"), result("two")]),
        user("r3", "a3", [result("three"), says("C")]),
      ],
      ["R Bash ran one", "R Bash ran two", "R Bash ran three", "U A | <image>", "U B", "U C"],
    ],
    [
      "with the results in another order, in a chain",
      [
        user("r2", "a2", [result("two"), says("A")]),
        user("r1", "r2", [result("one")]),
        user("r3", "r1", [result("three")]),
      ],
      ["R Bash ran two", "R Bash ran one", "R Bash ran three", "U A"],
    ],
    [
      "with all results in one record",
      [user("r3", "a3", [result("one"), says("A"), result("three"), result("two")])],
      ["R Bash ran one", "R Bash ran three", "R Bash ran two", "U A"],
    ],
    [
      "with a result that is missing",
      [user("r1", "a1", [result("one"), says("A")]), user("r3", "a3", [result("three")])],
      [
        "R Bash ran one",
        "R Bash ran three",
        "R! Bash [No result: the transcript ends or was interrupted before this call fi",
        "U A",
      ],
    ],
    [
      "as attachments between results",
      [
        user("r1", "a1", [result("one")]),
        queued("q", "r1", "A"),
        user("r2", "a2", [result("two")]),
        user("r3", "a3", [result("three")]),
      ],
      ["R Bash ran one", "R Bash ran two", "R Bash ran three", "U A"],
    ],
  ];
  test.each(AMONG)("%s", (_, rows, projection) => {
    const all = imported(...parallel, ...rows, END);
    expect(seen(all)).toEqual([...CALLS, ...projection, "A Done."]);
    expect(kinds(all).filter((kind) => /branches|call_missing|moved/.test(kind))).toEqual([]);
    // The same without the answer that follows.
    expect(seen(imported(...parallel, ...rows))).toEqual([...CALLS, ...projection]);
  });
});

describe("Claude Code: what is no answer of a model", () => {
  test("text that the program says in the model's name is a note without a model", () => {
    const synthetic = {
      message: { id: "x", model: "<synthetic>", content: [says("No response requested.")], usage: {} },
    };
    const all = imported(
      ...BEGIN,
      user("r1", "a1", [result("one")]),
      answer("p", "r1", "x", [], synthetic),
      user("u2", "p", "Next."),
    );
    expect(all.report.models).toEqual(["anthropic/claude-sonnet-4-5"]);
    expect(JSON.stringify(all.entries)).not.toContain("<synthetic>");
    expect(all.entries.filter((entry) => entry.type === "custom_message")).toMatchObject([
      { customType: "claude-code.notice", content: "No response requested.", display: true },
    ]);
    expect(seen(all)).toEqual([...SEEN, "U Next."]);
    expect(kinds(all)).toEqual(["program_answers 4"]);
  });

  test("a failed request is an answer that failed, of the model that was asked", () => {
    const failed = {
      isApiErrorMessage: true,
      message: { id: "x", model: "<synthetic>", content: [says("API Error: 529")] },
    };
    const all = imported(
      user("u1", null, "Mend it."),
      answer("e", "u1", "x", [], failed),
      answer("a1", "e", "m1", [says("Done.")]),
    );
    const stored = all.entries.flatMap((entry) =>
      entry.type === "message" && entry.message.role === "assistant" ? [entry.message] : [],
    );
    expect(stored.map(({ model, stopReason, errorMessage }) => [model, stopReason, errorMessage])).toEqual([
      ["claude-sonnet-4-5", "error", "API Error: 529"],
      ["claude-sonnet-4-5", "stop", undefined],
    ]);
  });

  const ABORTED: Array<[what: string, rows: Row[], stops: string[]]> = [
    ["before an answer came", [user("u1", null, "Mend it.")], ["aborted"]],
    [
      "within an answer",
      [user("u1", null, "Mend it."), answer("u1b", "u1", "m1", [says("I am")])],
      ["aborted"],
    ],
    ["before a call had run", [...BEGIN], ["aborted"]],
    ["after a call had run", [...BEGIN, user("r1", "a1", [result("one")])], ["toolUse", "aborted"]],
  ];
  test("a cancelled turn is marked", () =>
    everyRow(ABORTED)(([, rows, stops]) => {
      const last = rows.at(-1)!.uuid as string;
      const all = imported(
        ...rows,
        user("i", last, [says("[Request interrupted by user]")]),
        user("u9", "i", "Anew."),
      );
      const stored = all.entries.flatMap((entry) =>
        entry.type === "message" && entry.message.role === "assistant" ? [entry.message.stopReason] : [],
      );
      expect(stored).toEqual(stops);
      expect(seen(all).at(-1)).toBe("U Anew.");
      expect(kinds(all)).toContain(`cancelled_turns ${rows.length + 1}`);
    }));
});
