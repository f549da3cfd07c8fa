import type { Message } from "@bonsai-agent/messages";
import { byScript } from "@bonsai-agent/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { digest } from "../src/digest.ts";

const user = (content: string): Message => ({ role: "user", content, timestamp: 0 });
const history = (messages: readonly Message[], previousSummary?: string): string =>
  digest({
    kind: "history",
    messages,
    maxTokens: 4_000,
    ...(previousSummary !== undefined && { previousSummary }),
  });

const HEADINGS = [
  "## Goal",
  "## Constraints & Preferences",
  "## Progress",
  "### Done",
  "### In Progress",
  "### Blocked",
  "## Key Decisions",
  "## Next Steps",
  "## Critical Context",
];

const anyMessage = fc.oneof(
  fc.record({
    role: fc.constantFrom("user", "assistant", "toolResult", "custom", "x"),
    content: fc.anything(),
  }),
  fc.record({
    role: fc.constant("user"),
    content: fc.oneof(fc.string({ unit: "binary" }), fc.lorem(), fc.string()),
  }),
  fc.record({
    role: fc.constant("assistant"),
    content: fc.array(
      fc.oneof(
        fc.record({ type: fc.constant("text"), text: fc.string() }),
        fc.record({
          type: fc.constant("toolCall"),
          id: fc.constantFrom("1", "2"),
          name: fc.string(),
          arguments: fc.oneof(fc.object(), fc.anything()),
        }),
      ),
    ),
  }),
  fc.record({
    role: fc.constant("toolResult"),
    toolCallId: fc.constantFrom("1", "2"),
    content: fc.array(fc.record({ type: fc.constant("text"), text: fc.string() })),
    isError: fc.anything(),
  }),
  fc.record({ role: fc.constant("bashExecution"), command: fc.anything(), output: fc.anything() }),
  fc.record({ role: fc.constantFrom("branchSummary", "compactionSummary"), summary: fc.anything() }),
  fc.anything(),
) as fc.Arbitrary<Message>;

describe("digest", () => {
  it("is total: whatever the messages, all sections within the budget", () => {
    fc.assert(
      fc.property(
        fc.array(anyMessage, { maxLength: 30 }),
        fc.option(fc.string(), { nil: undefined }),
        fc.integer({ min: 200, max: 4_000 }),
        (messages, previousSummary, maxTokens) => {
          const text = digest({
            kind: "history",
            messages,
            maxTokens,
            ...(previousSummary !== undefined && { previousSummary }),
          });
          for (const heading of HEADINGS) expect(text.split("\n")).toContain(heading);
          expect(byScript(text)).toBeLessThanOrEqual(maxTokens);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("says (none) where there is nothing", () => {
    expect(history([])).toBe(
      HEADINGS.map((heading) => (heading === "## Progress" ? heading : `${heading}\n(none)`)).join("\n\n"),
    );
  });

  it("is deterministic", () => {
    const messages = [
      user("Port the parser to Rust. Never touch the C headers, please."),
      user("use 4 spaces"),
    ];
    expect(history(messages)).toBe(history(messages));
  });
});
