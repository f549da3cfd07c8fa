import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { detectTranscript, importTranscript } from "@bonsai-agent/transcripts";
import { describe, expect, test } from "vitest";
import { objectsOfLine } from "../src/import/json-lines.ts";
import { projectionText } from "./projection-text.ts";
import { folder, transcriptFile } from "./transcript-file.ts";

function claudeLine(uuid: string, parentUuid: string | null, text: string): string {
  return JSON.stringify({
    type: "user",
    uuid,
    parentUuid,
    sessionId: "s",
    timestamp: "2026-01-01T00:00:00.000Z",
    message: { role: "user", content: text },
  });
}

describe("bad input", () => {
  const REFUSED: Array<[what: string, path: () => string, code: string]> = [
    ["nothing there", () => join(folder, "absent.jsonl"), "transcript_not_found"],
    ["an empty file", () => transcriptFile(""), "transcript_empty"],
    ["blank lines", () => transcriptFile("\n\n\n"), "transcript_unknown"],
    ["prose", () => transcriptFile("Dear diary,\ntoday was fine.\n", "txt"), "transcript_unknown"],
    [
      "JSON of something else",
      () => transcriptFile('{"name":"left-pad","version":"1.0.0"}', "json"),
      "transcript_unknown",
    ],
    [
      "JSON that is cut off",
      () => transcriptFile('{"info":{"id":"ses_1"},"messages":[{', "json"),
      "transcript_unknown",
    ],
    ["a list", () => transcriptFile("[1,2,3]", "json"), "transcript_unknown"],
    ["binary", () => transcriptFile(Buffer.from([0, 255, 254, 0, 1, 2]), "bin"), "transcript_unknown"],
    [
      "a session",
      () => transcriptFile('{"type":"session","version":3,"id":"x","timestamp":"t","cwd":"/"}\n'),
      "transcript_is_session",
    ],
    ["an empty folder", () => mkdtempSync(join(folder, "empty-")), "transcript_unknown"],
    ["a database", () => transcriptFile("SQLite format 3\0", "db"), "transcript_unknown"],
    [
      "a header without messages",
      () => transcriptFile('{"sessionId":"s","projectHash":"h"}\n'),
      "transcript_empty",
    ],
    ["several OpenCode sessions", ambiguousStorage, "transcript_ambiguous"],
  ];

  function ambiguousStorage(): string {
    const storage = mkdtempSync(join(folder, "storage-"));
    mkdirSync(join(storage, "session", "p"), { recursive: true });
    mkdirSync(join(storage, "message"));
    for (const id of ["ses_1", "ses_2"])
      writeFileSync(join(storage, "session", "p", `${id}.json`), `{"id":"${id}"}`);
    return storage;
  }

  test("a file that is no transcript is refused by name", () =>
    everyRow(REFUSED)(([, path, code]) => {
      expect(() => importTranscript({ path: path() })).toThrowError(
        expect.objectContaining({ code, hint: expect.stringMatching(/./) }),
      );
    }));

  test("sessions are recognised as such", () => {
    const path = transcriptFile('\uFEFF{"type":"session","version":3,"id":"x","timestamp":"t","cwd":"/"}\n');
    expect(detectTranscript(path)).toEqual({ format: "session", program: "Bonsai or pi" });
  });

  const DAMAGED: Array<[what: string, content: string, projection: string[], notices: string[]]> = [
    [
      "a byte-order mark and CRLF",
      `\uFEFF${claudeLine("a", null, "hi")}\r\n${claudeLine("b", "a", "ho")}\r\n`,
      ["U hi", "U ho"],
      [],
    ],
    ["a NUL tail", `${claudeLine("a", null, "hi")}\n${"\0".repeat(4096)}`, ["U hi"], []],
    [
      "lines that are no objects",
      `42\n[]\n"x"\nnull\n${claudeLine("a", null, "hi")}\n`,
      ["U hi"],
      ["bad_line"],
    ],
    ["a record that is its own parent", `${claudeLine("a", "a", "hi")}\n`, ["U hi"], ["parent_cycle"]],
    [
      "a cycle with a tail that leads into it",
      [
        claudeLine("r", null, "root"),
        claudeLine("t", "c", "tail"),
        claudeLine("b", "c", "b"),
        claudeLine("c", "b", "c"),
      ].join("\n"),
      ["U root", "U tail", "U b", "U c"],
      ["parent_cycle"],
    ],
    [
      "a lost line in the middle",
      `${claudeLine("a", null, "one")}\n{"uuid":"b","parentUu\n${claudeLine("c", "b", "three")}\n`,
      ["U one", "U three"],
      ["bad_line", "missing_parent"],
    ],
    [
      "fields of wrong types",
      `${claudeLine("a", null, "hi")}\n${JSON.stringify({ type: "assistant", uuid: "b", parentUuid: "a", sessionId: 7, timestamp: {}, message: { id: 3, content: [null, 4, { type: "tool_use" }, { type: "text" }], usage: { input_tokens: "many" } } })}\n`,
      [
        "U hi",
        "A unknown() | ",
        "R! unknown [No result: the transcript ends or was interrupted before this call fi",
      ],
      ["result_missing"],
    ],
  ];

  const [one, two, three] = [
    claudeLine("a", null, 'one }{" {"'),
    claudeLine("b", "a", "two"),
    claudeLine("c", "b", "three"),
  ];
  const torn = two.slice(0, two.indexOf("two") + 1);
  const JOINED: Array<[what: string, content: string, projection: string[], notices: string[]]> = [
    ["two records on a line", `${one}${two}\n${three}`, ["one", "two", "three"], ["joined_records 1"]],
    [
      "three records on a line, apart by blanks and NULs",
      `${one} \0\0${two}\t${three}`,
      ["one", "two", "three"],
      ["joined_records 1"],
    ],
    [
      "a record and a torn one",
      `${one}${torn}\n${three}`,
      ["one", "three"],
      ["bad_line 1", "missing_parent 2"],
    ],
    [
      "a record and a torn one at the end",
      `${one}\n${two}${three.slice(0, -9)}`,
      ["one", "two"],
      ["torn_last_line 2"],
    ],
    [
      "a torn record and a whole one",
      `${one}\n${torn}${three}\n`,
      ["one", "three"],
      ["bad_line 2", "missing_parent 2"],
    ],
    [
      "a torn record and two whole ones",
      `${torn}${one}${three}\n`,
      ["one", "three"],
      ["joined_records 1", "bad_line 1", "missing_parent 1"],
    ],
    ...["parentUuid", "message"].map((field): (typeof JOINED)[number] => [
      `a record that is torn right before its ${field}, and two whole ones`,
      `${one}${two.slice(0, two.indexOf(`"${field}":`) + field.length + 3)}${three}\n${claudeLine("d", "c", "four")}`,
      ["one", "three", "four"],
      ["joined_records 1", "bad_line 1", "missing_parent 1"],
    ]),
    [
      "a record that is torn behind a nested object",
      `${one}\n${two.slice(0, -1)}\n${three}`,
      ["one", "three"],
      ["bad_line 2", "missing_parent 3"],
    ],
  ];
  test.each(JOINED)("%s: what is whole is read", (_, content, said, expected) => {
    const { report, ...session } = importTranscript({ path: transcriptFile(content) });
    const texts = projectionText(session).map((line) => line.split(" ")[1]);
    expect(texts).toEqual(said);
    const notices = report.notices.map(({ kind, lines }) => `${kind} ${lines.join(",")}`);
    expect(notices.filter((notice) => !notice.startsWith("cwd_unknown"))).toEqual(expected);
  });

  test("records on one line are read one by one", () =>
    everyRow([
      [
        "Codex",
        '{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"c"}}{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":"one"}}',
      ],
      ["Gemini CLI", '{"sessionId":"s","projectHash":"h"}{"id":"1","type":"user","content":"one"}'],
      [
        "Qwen Code",
        '{"uuid":"a","sessionId":"s","type":"user","message":{"parts":[{"text":"one"}]}}{"uuid":"b","parentUuid":"a","sessionId":"s","type":"system"}',
      ],
    ])(([program, content]) => {
      const { report, ...session } = importTranscript({ path: transcriptFile(content) });
      expect([report.program, ...projectionText(session)]).toEqual([program, "U one"]);
      expect(report.notices).toContainEqual(expect.objectContaining({ kind: "joined_records", lines: [1] }));
    }));

  test("64 KB of one repeated unit are given up, or read, in one pass", () =>
    everyRow(['{"a":', '{"', "}{", '{"a":1}', '"', '{"a":"\\', '\\"', "[", "{{"])((unit) => {
      const { values } = objectsOfLine(`{${unit.repeat(64_000 / unit.length)}`);
      expect(values.length > 0).toBe(unit === "}{" || unit === '{"a":1}');
    }));

  test.each(DAMAGED)("%s", (_, content, projection, notices) => {
    const result = importTranscript({ path: transcriptFile(content) });
    expect(projectionText(result).sort()).toEqual([...projection].sort());
    expect(
      result.report.notices
        .map(({ kind }) => kind)
        .filter((kind) => !["cwd_unknown", "branches"].includes(kind)),
    ).toEqual(notices);
  });

  test("one line of 2 MB is read", () => {
    const result = importTranscript({
      path: transcriptFile(`${claudeLine("a", null, "x".repeat(2 << 20))}\n`),
    });
    expect(projectionText(result)).toEqual([`U ${"x".repeat(70)}`]);
  });

  test("a chain of 5,000 records, written backwards, is read", () => {
    const lines = Array.from({ length: 5_000 }, (_, index) =>
      claudeLine(`n${index}`, index === 0 ? null : `n${index - 1}`, `m${index}`),
    );
    const { report, entries } = importTranscript({ path: transcriptFile(lines.reverse().join("\n")) });
    expect(report.counts.user).toBe(5_000);
    expect(entries.at(-1)?.type).toBe("message");
  });
});
