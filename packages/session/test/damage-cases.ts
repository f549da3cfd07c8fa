import type { Problem } from "../src/doctor/problems.ts";

const HEADER = '{"type":"session","version":3,"id":"s1","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/w"}';
export const BASE = { timestamp: "2026-01-05T09:00:00.000Z" };

function says(id: string, parentId: string | null | undefined, text = id): string {
  return JSON.stringify({
    type: "message",
    id,
    parentId,
    ...BASE,
    message: { role: "user", content: text, timestamp: 0 },
  });
}

function compacts(id: string, parentId: string, firstKeptEntryId: unknown, summary?: string): string {
  return JSON.stringify({
    type: "compaction",
    id,
    parentId,
    ...BASE,
    summary,
    firstKeptEntryId,
    tokensBefore: 1,
  });
}

export function file(...lines: string[]): string {
  return [HEADER, ...lines].map((line) => `${line}\n`).join("");
}

interface DamageCase {
  name: string;
  content: string | Buffer;
  /** The text of each message that the model sees. */
  sees: string[];
  /** Line and kind of each problem. */
  problems: Array<[number, Problem["kind"]]>;
}

export const abc = [says("a", null), says("b", "a"), says("c", "b")] as const;
export const damageCases: DamageCase[] = [
  { name: "a sound file", content: file(...abc), sees: ["a", "b", "c"], problems: [] },
  { name: "a header alone", content: file(), sees: [], problems: [] },
  { name: "a header without its newline", content: HEADER, sees: [], problems: [] },
  {
    name: "a torn last line",
    content: file(...abc) + says("d", "c").slice(0, 40),
    sees: ["a", "b", "c"],
    problems: [[5, "torn_line"]],
  },
  {
    name: "a last line torn within its body",
    content: file(...abc) + says("d", "c").slice(0, -5),
    sees: ["a", "b", "c"],
    problems: [[5, "torn_line"]],
  },
  {
    name: "a whole last line without its newline",
    content: file(...abc) + says("d", "c"),
    sees: ["a", "b", "c", "d"],
    problems: [],
  },
  {
    name: "garbage that others descend from",
    content: file(abc[0], abc[1], "gar{bage", says("d", "lost"), says("e", "d")),
    sees: ["a", "b", "d", "e"],
    problems: [
      [4, "damaged_line"],
      [5, "missing_parent"],
    ],
  },
  {
    name: "garbage that others descend from, with another branch between",
    content: file(abc[0], abc[1], "gar{bage", says("x", "a"), says("d", "lost")),
    sees: ["a", "b", "d"],
    problems: [
      [4, "damaged_line"],
      [6, "missing_parent"],
    ],
  },
  {
    name: "a torn line in the middle whose head can be read",
    content: file(abc[0], abc[1].slice(0, -4), says("x", "a"), says("d", "b")),
    sees: ["a", "d"],
    problems: [[3, "damaged_line"]],
  },
  {
    name: "a body that is damaged while its line looks whole",
    content: file(abc[0], abc[1].replace('"content":"b"', '"content":b'), says("d", "b")),
    sees: ["a", "d"],
    problems: [[3, "damaged_line"]],
  },
  {
    name: "a missing parent",
    content: file(abc[0], abc[1], says("d", "nobody")),
    sees: ["a", "b", "d"],
    problems: [[4, "missing_parent"]],
  },
  {
    name: "no parent named",
    content: file(abc[0], says("b", undefined)),
    sees: ["a", "b"],
    problems: [[3, "missing_parent"]],
  },
  {
    name: "a parent after its child, torn and written once more",
    content: file(
      says("a", null),
      says("c", "b"),
      says("b", "a").slice(0, -5),
      says("b", "a"),
      says("d", "c"),
    ),
    sees: ["a", "b", "c", "d"],
    problems: [
      [3, "late_parent"],
      [4, "damaged_line"],
    ],
  },
  {
    name: "a parent after its child",
    content: file(says("b", "a"), says("a", null), says("c", "b")),
    sees: ["a", "b", "c"],
    problems: [[2, "late_parent"]],
  },
  {
    name: "a cycle",
    content: file(says("a", "c"), says("b", "a"), says("c", "b")),
    sees: ["a", "b", "c"],
    problems: [[2, "cycle"]],
  },
  {
    name: "an entry that is its own parent",
    content: file(says("a", null), says("b", "b"), says("c", "b")),
    sees: ["a", "b", "c"],
    problems: [[3, "cycle"]],
  },
  {
    name: "a duplicate id: children mean the nearest earlier one",
    content: file(says("a", null, "a1"), says("b", "a"), says("a", null, "a2"), says("c", "b")),
    sees: ["a1", "b", "c"],
    problems: [[4, "duplicate_id"]],
  },
  {
    name: "an id reused by its own descendant",
    content: file(says("a", null, "a1"), says("b", "a"), says("a", "b", "a2"), says("c", "a")),
    sees: ["a1", "b", "a2", "c"],
    problems: [[4, "duplicate_id"]],
  },
  {
    name: "several roots",
    content: file(abc[0], says("r", null), says("s", "r")),
    sees: ["r", "s"],
    problems: [],
  },
  {
    name: "an unknown type",
    content: file(abc[0], '{"type":"hologram","id":"h","parentId":"a","depth":[{"x":"}"}]}', says("c", "h")),
    sees: ["a", "c"],
    problems: [],
  },
  {
    name: "a message entry without message",
    content: file(
      abc[0],
      '{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-05T09:00:00.000Z"}',
      abc[2],
    ),
    sees: ["a", "c"],
    problems: [[3, "missing_message"]],
  },
  {
    name: "a message without content",
    content: file(
      abc[0],
      '{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-05T09:00:00.000Z","message":{"role":"user","content":null}}',
      abc[2],
    ),
    sees: ["a", "", "c"],
    problems: [],
  },
  {
    name: "an entry without an id",
    content: file(
      abc[0],
      '{"type":"message","parentId":"a","timestamp":"2026-01-05T09:00:00.000Z","message":{"role":"user","content":"b"}}',
      says("c", "lost"),
    ),
    sees: ["a", "b", "c"],
    problems: [
      [3, "missing_id"],
      [4, "missing_parent"],
    ],
  },
  {
    name: "lines that are no objects",
    content: file(abc[0], "42", "[]", "null", '"text"', abc[1], abc[2]),
    sees: ["a", "b", "c"],
    problems: [3, 4, 5, 6].map((line) => [line, "not_an_entry"]),
  },
  {
    name: "a second header",
    content: file(abc[0], HEADER, abc[1]),
    sees: ["a", "b"],
    problems: [[3, "not_an_entry"]],
  },
  {
    name: "invalid UTF-8",
    content: Buffer.from(file(abc[0], says("b", "a", "gr\u00fcn"), abc[2]), "latin1"),
    sees: ["a", "gr\ufffdn", "c"],
    problems: [[3, "invalid_utf8"]],
  },
  {
    name: "a tail of zero bytes",
    content: Buffer.concat([Buffer.from(file(...abc)), Buffer.alloc(600_000)]),
    sees: ["a", "b", "c"],
    problems: [[5, "nul_bytes"]],
  },
  {
    name: "zero bytes before the line of another program",
    content: `${file(...abc)}\0\0\0${says("d", "c")}\n`,
    sees: ["a", "b", "c", "d"],
    problems: [],
  },
  {
    name: "CRLF",
    content: file(...abc).replaceAll("\n", "\r\n"),
    sees: ["a", "b", "c"],
    problems: [],
  },
  {
    name: "a byte-order mark",
    content: `\ufeff${file(...abc)}`,
    sees: ["a", "b", "c"],
    problems: [[1, "byte_order_mark"]],
  },
  {
    name: "blank lines",
    content: file("", ...abc, "", " ").replace("\n", "\n\n"),
    sees: ["a", "b", "c"],
    problems: [],
  },
  {
    name: "a damaged header before entries",
    content: file(...abc).replace('{"type":"session"', "{type:session"),
    sees: ["a", "b", "c"],
    problems: [[1, "damaged_header"]],
  },
  {
    name: "entries without a header",
    content: file(...abc).replace(`${HEADER}\n`, ""),
    sees: ["a", "b", "c"],
    problems: [[1, "damaged_header"]],
  },
  {
    name: "a compaction whose first kept entry is nowhere keeps everything",
    content: file(...abc, compacts("k", "c", "nobody", "sum"), says("d", "k")),
    sees: ["sum", "a", "b", "c", "d"],
    problems: [[5, "missing_kept_entry"]],
  },
  {
    name: "a second compaction whose first kept entry is nowhere keeps what the first kept",
    content: file(
      ...abc,
      compacts("k", "c", "b", "sum"),
      says("d", "k"),
      compacts("l", "d", "nobody", "sum2"),
    ),
    sees: ["sum2", "b", "c", "d"],
    problems: [[7, "missing_kept_entry"]],
  },
  {
    name: "a compaction that keeps nothing",
    content: file(...abc, compacts("k", "c", "k", "sum"), says("d", "k")),
    sees: ["sum", "d"],
    problems: [],
  },
  {
    name: "a compaction without a summary hides nothing",
    content: file(...abc, compacts("k", "c", "c"), says("d", "k")),
    sees: ["a", "b", "c", "d"],
    problems: [[5, "missing_summary"]],
  },
];
