import fc from "fast-check";

const timestamp = "2026-01-05T09:00:00.000Z";
export const HEADER = { type: "session", version: 3, id: "s", timestamp, cwd: "/w" };
export const base = (id: string, parentId: string | null) => ({ id, parentId, timestamp });
export const user = { role: "user", content: "hello", timestamp: 1 };

const usage = {
  input: 1,
  output: 1,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 2,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
export const assistant = {
  role: "assistant",
  content: [
    { type: "text", text: "hello" },
    { type: "thinking", thinking: "hm", thinkingSignature: "x" },
    { type: "toolCall", id: "t", name: "read", arguments: { path: "a" } },
  ],
  api: "a",
  provider: "p",
  model: "m",
  usage,
  stopReason: "stop",
  errorMessage: "hello",
  timestamp: 1,
};
export const bash = {
  role: "bashExecution",
  command: "ls",
  output: "hello",
  exitCode: 1,
  cancelled: false,
  truncated: false,
  excludeFromContext: false,
  timestamp: 1,
};
const content = [
  { type: "text", text: "hello" },
  { type: "image", data: "AAAA", mimeType: "image/png" },
];

const CALIBRATION = { ratio: 1.2, overheadTokens: 900, samples: 7 };
const DETAILS = { readFiles: ["a.ts"], prose: "sum", manifest: { reason: "manual", kept: { count: 2 } } };

/** A whole entry of each type, and a message of each role. */
export const SOUND: ReadonlyArray<Record<string, unknown>> = [
  { type: "message", message: user },
  { type: "message", message: { ...user, content } },
  { type: "message", message: assistant },
  {
    type: "message",
    message: { role: "toolResult", toolCallId: "t", toolName: "read", content, isError: false, timestamp: 1 },
  },
  { type: "message", message: bash },
  { type: "message", message: { role: "custom", customType: "note", content, display: true, timestamp: 1 } },
  { type: "message", message: { role: "system", content: "x" } },
  { type: "compaction", summary: "sum", firstKeptEntryId: "a0", tokensBefore: 9, usage, fromHook: true },
  { type: "compaction", summary: "sum", firstKeptEntryId: "a0", tokensBefore: 9, details: DETAILS },
  { type: "branch_summary", summary: "sum", fromId: "a0", usage },
  { type: "branch_summary", summary: "sum", fromId: "a0", details: DETAILS },
  { type: "context_edit", targetId: "a0", replacement: { content } },
  { type: "custom_message", customType: "note", content, display: true },
  { type: "custom", customType: "note", data: 1 },
  { type: "custom", customType: "bonsai.undo", data: { compactionId: "a0" } },
  { type: "custom", customType: "bonsai.beside", data: { calibration: CALIBRATION, pinned: ["keep this"] } },
  { type: "label", targetId: "a0", label: "hello" },
  { type: "model_change", provider: "p", modelId: "m" },
  { type: "thinking_level_change", thinkingLevel: "low" },
  { type: "session_info", name: "hello" },
  { type: "usage", kind: "k", provider: "p", model: "m", usage },
  { type: "hologram", depth: 1 },
];

const odd = fc.oneof(
  fc.constantFrom<unknown>(
    ...[null, 5, -1, 1e300, "", "x", true, [], {}, [[[]]], [null], [[1]], [{ type: "text", text: 5 }]],
    ...[[{ type: "text" }], [{ type: "toolCall", arguments: 5 }], [{ type: "image" }], { content: 5 }],
    ...["constructor", "__proto__", "toString", { toString: 5, valueOf: 5 }, { length: 3 }],
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

type Path = Array<string | number>;

function pathsOf(value: unknown, at: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[...at, key], ...pathsOf(inner, [...at, key])]);
}

function withValue(target: unknown, path: Path, value: unknown): void {
  const holder = path.slice(0, -1).reduce((inner, key) => (inner as Record<string, unknown>)[key], target);
  (holder as Record<string, unknown>)[path.at(-1)!] = value;
}

const oddEntry = fc
  .nat({ max: SOUND.length - 1 })
  .chain((number) => {
    const entry = { ...SOUND[number], ...base("own", "above") };
    const paths = pathsOf(entry);
    return fc.record({
      entry: fc.constant(entry),
      changes: fc.array(fc.record({ path: fc.constantFrom(...paths), value: odd }), {
        minLength: 1,
        maxLength: 3,
      }),
    });
  })
  .map(({ entry, changes }) => {
    const changed = structuredClone(entry) as Record<string, unknown>;
    // Longer paths first: a shorter one may take away what they go through.
    const longestFirst = changes.sort((one, other) => other.path.length - one.path.length);
    for (const { path, value } of longestFirst) withValue(changed, path, structuredClone(value));
    return changed;
  });

const oddHeader = fc.record({
  field: fc.constantFrom("version", "id", "timestamp", "cwd", "parentSession", "other"),
  value: odd,
});

/** The lines of a session in which any field of any entry may hold anything. */
export const oddSession: fc.Arbitrary<object[]> = fc
  .record({ header: fc.option(oddHeader, { freq: 3 }), entries: fc.array(oddEntry, { maxLength: 5 }) })
  .map(({ header, entries }) => {
    const first = { ...HEADER, ...(header === null ? {} : { [header.field]: header.value }) };
    const lines = entries.map((entry, at) => ({
      ...entry,
      ...(entry.id === "own" && { id: `a${at + 1}` }),
      ...(entry.parentId === "above" && { parentId: `a${at}` }),
    }));
    return [first, { type: "message", ...base("a0", null), message: user }, ...lines];
  });
