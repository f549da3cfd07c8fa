import fc from "fast-check";

/** Few ids, so that they are reused; some as this package writes them, some not. */
const ids = ["0000000a", "0000000b", "0000000c", "0000000d", "long-id-e", "0000000f", "Ünï", "00000010"];

const changes = ["compaction", "undo", "redo", "edit", "leaf", "label", "unknown"];
const damages = [
  ...["torn head", "torn body", "garbage", "zeros", "number", "array", "no id", "no parent", "no message"],
  ...["no summary", "second header", "escaped", "body first", "blank"],
];

/** One line: what it is, which id it takes, and which it names. */
const lineSpec = fc.record({
  // Most are sound: of a file that is all damage, no path is left that could be read wrongly.
  kind: fc.oneof(
    {
      weight: 8,
      arbitrary: fc.constantFrom("user", "user", "user", "user", "compaction", "edit", ...changes),
    },
    { weight: 2, arbitrary: fc.constantFrom(...damages) },
  ),
  id: fc.nat({ max: 40 }),
  parent: fc.oneof(
    { weight: 12, arbitrary: fc.constant("previous") },
    fc.nat({ max: 40 }),
    fc.constant(null),
  ),
  // Mostly near: what lies far back is seldom on the same path.
  target: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 6 }) }, fc.nat({ max: 40 })),
});
type LineSpec = typeof lineSpec extends fc.Arbitrary<infer Spec> ? Spec : never;

/** Ids: mostly one for each line, at times one of the few. */
function idOf(number: number, line: number, reuse: boolean): string {
  return reuse && number < ids.length ? ids[number]! : (0xabc00000 + line).toString(16);
}

function lineOf(spec: LineSpec, line: number, reuse: boolean): string {
  const id = idOf(spec.id, line, reuse);
  const named = spec.parent === "previous" ? (line === 1 ? null : idOf(40, line - 1, false)) : spec.parent;
  const parentId = typeof named === "number" ? idOf(named, Math.max(1, line - (named % 7)), reuse) : named;
  const target = idOf(spec.target, Math.max(1, line - spec.target), reuse);
  const base = { id, parentId, timestamp: "2026-01-05T09:00:00.000Z" };
  const message = { role: "user", content: `said in line ${line}`, timestamp: 0 };
  const text = (fields: object) => JSON.stringify(fields);
  const replaced = line % 4 === 0 ? null : { content: `edited in line ${line}` };
  switch (spec.kind) {
    case "compaction":
      return text({
        type: "compaction",
        ...base,
        summary: `sum ${line}`,
        firstKeptEntryId: target,
        tokensBefore: 1,
      });
    case "no summary":
      return text({ type: "compaction", ...base, firstKeptEntryId: target, tokensBefore: 1 });
    case "redo":
      return text({ type: "custom", ...base, customType: "bonsai.redo", data: { compactionId: target } });
    case "undo":
      return text({ type: "custom", ...base, customType: "bonsai.undo", data: { compactionId: target } });
    case "leaf":
      return text({ type: "custom", ...base, customType: "bonsai.leaf" });
    case "edit":
      return text({ type: "context_edit", ...base, targetId: target, replacement: replaced });
    case "label":
      return text({ type: "label", ...base, targetId: target, label: "x" });
    case "unknown":
      return text({ type: "hologram", ...base, depth: { deep: [1, "}", { a: "\\" }] } });
    case "torn head":
      return text({ type: "message", ...base, message }).slice(0, 30);
    case "torn body":
      return text({ type: "message", ...base, message }).slice(0, -9);
    case "garbage":
      return "{garbage}";
    case "zeros":
      return "\0\0\0";
    case "number":
      return "42";
    case "array":
      return "[]";
    case "no id":
      return text({ type: "message", parentId, message });
    case "no parent":
      return text({ type: "message", id, message });
    case "no message":
      return text({ type: "message", ...base });
    case "second header":
      return text({ type: "session", version: 3, ...base, cwd: "/" });
    case "escaped":
      return text({ type: "message", ...base, message }).replace('"id"', '"\\u0069d"');
    case "body first":
      return text({ message, timestamp: base.timestamp, parentId, id, type: "message" });
    case "blank":
      return " ";
    default:
      return text({ type: "message", ...base, message });
  }
}

/** A session file in which anything may be wrong but the header. `harm` is how often, from 0 to 1. */
export const damagedFile: fc.Arbitrary<string> = fc
  .record({
    specs: fc.array(lineSpec, { maxLength: 40, size: "max" }),
    reuse: fc.boolean(),
    onlySound: fc.boolean(),
    newlines: fc.constantFrom("\n", "\r\n", "\n\n"),
    endsWith: fc.constantFrom("\n", "", "\0\0", '\n{"type":"message","id":"00ff00ff","parentId":nu'),
  })
  .map(({ specs, reuse, onlySound, newlines, endsWith }) => {
    const used = onlySound ? specs.filter(({ kind }) => !damages.includes(kind)) : specs;
    const header = '{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/"}';
    const lines = [header, ...used.map((spec, index) => lineOf(spec, index + 1, reuse))];
    return lines.join(newlines) + endsWith;
  });
