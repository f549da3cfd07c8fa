import type { Session } from "@bonsai-agent/session";

/** A sound history of six entries, a1 to a6, that each damaged file starts from. */
function soundLines(): string[] {
  return [
    header(3),
    user("a1", null, "Add a --json flag to the report command."),
    assistant("a2", "a1", "Reading the command first."),
    user("a3", "a2", "Keep the human output as it is."),
    assistant("a4", "a3", "The flag is in, both outputs are tested."),
    user("a5", "a4", "Now document it."),
    assistant("a6", "a5", "Documented in README.md."),
  ];
}

const TIMESTAMP = "2026-01-05T09:00:00.000Z";

function header(version: number): string {
  return line({
    type: "session",
    version,
    id: "damaged-session",
    timestamp: TIMESTAMP,
    cwd: "/home/dev/shop",
  });
}

function line(fields: object): string {
  return JSON.stringify(fields);
}

function user(id: string, parentId: string | null, text: string): string {
  const message = { role: "user", content: [{ type: "text", text }], timestamp: 1_767_603_600_000 };
  return line({ type: "message", id, parentId, timestamp: TIMESTAMP, message });
}

function assistant(id: string, parentId: string | null, text: string): string {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 100, output: 20, cacheRead: 0, cacheWrite: 0, totalTokens: 120, cost };
  const message = {
    role: "assistant",
    content: [{ type: "text", text }],
    api: "scripted",
    provider: "scripted",
    model: "scripted-1",
    usage,
    stopReason: "stop",
    timestamp: 1_767_603_600_000,
  };
  return line({ type: "message", id, parentId, timestamp: TIMESTAMP, message });
}

function file(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((text) => `${text}\n`).join(""));
}

/** The sound history with the line of entry `a<number>` replaced; several lines may take its place. */
function withEntry(number: number, ...replacement: string[]): Buffer {
  return file(soundLines().toSpliced(number, 1, ...replacement));
}

const damages = {
  "torn last line": () => file(soundLines()).subarray(0, -40),
  "garbage line with descendants": () => withEntry(4, '{"type":"message","id":"a4","par#@!'),
  "missing parent": () => withEntry(4),
  "duplicate id": () => file([...soundLines(), user("a3", "a6", "An id is used twice.")]),
  "id reused by its own descendant": () =>
    file([
      ...soundLines().slice(0, 5),
      user("a2", "a4", "Now document it."),
      assistant("a6", "a2", "Documented in README.md."),
    ]),
  cycle: () => withEntry(1, user("a1", "a4", "Add a --json flag to the report command.")),
  "entry that is its own parent": () => withEntry(3, user("a3", "a3", "Keep the human output as it is.")),
  "parent after its child": () => file(soundLines().toSpliced(3, 2, soundLines()[4]!, soundLines()[3]!)),
  "damaged header": () => file(soundLines().with(0, '{"type":"session","version":3,"id":"dam')),
  "second header": () => withEntry(4, soundLines()[4]!, header(3)),
  "compaction without summary": () =>
    withEntry(
      4,
      soundLines()[4]!,
      line({ type: "compaction", id: "c1", parentId: "a4", timestamp: TIMESTAMP, firstKeptEntryId: "a3" }),
    ),
  "unknown type": () =>
    withEntry(4, line({ type: "hologram", id: "a4", parentId: "a3", timestamp: TIMESTAMP, depth: 7 })),
  "message entry without message": () =>
    withEntry(4, line({ type: "message", id: "a4", parentId: "a3", timestamp: TIMESTAMP })),
  "message without content": () =>
    withEntry(
      4,
      line({
        type: "message",
        id: "a4",
        parentId: "a3",
        timestamp: TIMESTAMP,
        message: { role: "user", content: null },
      }),
    ),
  "number as a line": () => withEntry(4, soundLines()[4]!, "42"),
  "array as a line": () => withEntry(4, soundLines()[4]!, "[]"),
  "entry without id": () => withEntry(4, line({ ...JSON.parse(soundLines()[4]!), id: undefined })),
  "future version": () => file(soundLines().with(0, header(99))),
  "invalid UTF-8": () => spliced(file(soundLines()), "human output", Buffer.from([0xff, 0xfe, 0xc3, 0x28])),
  "NUL tail": () => Buffer.concat([file(soundLines()), Buffer.alloc(4096)]),
  CRLF: () => Buffer.from(soundLines().join("\r\n").concat("\r\n")),
  "byte-order mark": () => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), file(soundLines())]),
  "compaction that keeps a missing entry": () =>
    file([
      ...soundLines(),
      line({
        type: "compaction",
        id: "a7",
        parentId: "a6",
        timestamp: TIMESTAMP,
        summary: "A flag was added.",
        firstKeptEntryId: "nowhere",
        tokensBefore: 300,
      }),
      user("a8", "a7", "And a changelog line."),
    ]),
  "several roots": () =>
    file([...soundLines(), user("b1", null, "A second beginning."), assistant("b2", "b1", "Yes.")]),
  empty: () => Buffer.alloc(0),
  "header alone": () => file(soundLines().slice(0, 1)),
  "header without newline": () => Buffer.from(header(3)),
  "entries without header": () => file(soundLines().slice(1)),
  "no session at all": () => Buffer.from("# Shopping list\n\n- milk\n- {bread}\n"),
  "binary file": () => Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0xff]),
} satisfies Record<string, () => Buffer>;

function spliced(bytes: Buffer, text: string, replacement: Buffer): Buffer {
  const at = bytes.indexOf(text);
  return Buffer.concat([bytes.subarray(0, at), replacement, bytes.subarray(at + text.length)]);
}

export type DamageName = keyof typeof damages;

/**
 * Session files as crashes, editors and foreign programs leave them, by their damage. Each starts
 * from the same six entries, a1 to a6, of which a5 is the last user message.
 */
export function damagedSessions(): Record<DamageName, Buffer> {
  const made = Object.entries(damages).map(([name, make]) => [name, make()]);
  return Object.fromEntries(made) as Record<DamageName, Buffer>;
}

/** The findings in each damaged file, or the code of the error if the file is no session. */
export const damageFindings: Readonly<
  Record<
    DamageName,
    readonly ReturnType<Session["problems"]>[number]["kind"][] | "session_empty" | "not_a_session"
  >
> = {
  "torn last line": ["torn_line"],
  "garbage line with descendants": ["damaged_line", "missing_parent"],
  "missing parent": ["missing_parent"],
  "duplicate id": ["duplicate_id"],
  "id reused by its own descendant": ["duplicate_id"],
  cycle: ["cycle"],
  "entry that is its own parent": ["cycle"],
  "parent after its child": ["late_parent"],
  "damaged header": ["damaged_header"],
  "second header": ["not_an_entry"],
  "compaction without summary": ["missing_summary"],
  "unknown type": [],
  "message entry without message": ["missing_message"],
  "message without content": [],
  "number as a line": ["not_an_entry"],
  "array as a line": ["not_an_entry"],
  "entry without id": ["missing_id", "missing_parent"],
  "future version": [],
  "invalid UTF-8": ["invalid_utf8"],
  "NUL tail": ["nul_bytes"],
  CRLF: [],
  "byte-order mark": ["byte_order_mark"],
  "compaction that keeps a missing entry": ["missing_kept_entry"],
  "several roots": [],
  empty: "session_empty",
  "header alone": [],
  "header without newline": [],
  "entries without header": ["damaged_header"],
  "no session at all": "not_a_session",
  "binary file": "not_a_session",
};
