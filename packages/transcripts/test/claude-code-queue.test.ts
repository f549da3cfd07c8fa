import { describe, expect, test } from "vitest";
import {
  answer,
  BEGIN,
  call,
  image,
  imported,
  kinds,
  queue,
  queued,
  type Row,
  result,
  SEEN,
  says,
  seen,
  user,
  users,
} from "./claude-code-rows.ts";

/** A turn with one call, what happens in the queue meanwhile, and its end. */
const during = (...rows: Row[]) =>
  imported(...BEGIN, ...rows, user("r1", "a1", [result("one")]), answer("a2", "r1", "m2", [says("Done.")]));

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
