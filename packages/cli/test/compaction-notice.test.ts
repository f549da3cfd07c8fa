import type { CompactionOutcome } from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import type { CompactionEntry } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { compactionNotice } from "../src/views/compaction-notice.ts";

function outcome(fields: Partial<CompactionOutcome>): CompactionOutcome {
  const sizes = { estimatedTokensBefore: 0, tokensBefore: 123_456, tokensAfter: 20_000 };
  return {
    status: "compacted",
    reason: "threshold",
    detail: "Compacted the context.",
    ...sizes,
    ...fields,
  };
}

function entry(fields: Partial<CompactionEntry>): CompactionEntry {
  return {
    type: "compaction",
    id: "c0000001",
    parentId: null,
    timestamp: "2026-11-20T09:00:00.000Z",
    summary: "## Goal",
    firstKeptEntryId: "a0000001",
    tokensBefore: 123_456,
    ...fields,
  };
}

const sizes = "Compacted: 123,456 → ~20,000 tokens";

describe("the notice of a compaction", () => {
  test("names the method, the sizes and the costs", () =>
    everyRow<[string, Partial<CompactionEntry>, number, string]>([
      [
        "a summary",
        { details: { manifest: { rung: "summarise", requests: 2, costUsd: 0.0312 } } },
        0,
        `${sizes}, with a summary; 2 requests, $0.0312.`,
      ],
      [
        "masks beside it",
        { details: { manifest: { rung: "chunks", requests: 3, costUsd: 0.5 } } },
        12,
        `${sizes}, with a summary in several parts; 3 requests, $0.50; 12 old tool results masked.`,
      ],
      [
        "the digest",
        { details: { manifest: { rung: "digest", requests: 0, costUsd: 0 } } },
        0,
        `${sizes}, with the built-in digest.`,
      ],
      [
        "an extension's own",
        { fromHook: true, details: { mine: true } },
        0,
        `${sizes}, with an extension's summary.`,
      ],
      [
        "requests of a model without a price",
        { details: { manifest: { rung: "summarise", requests: 2 } } },
        0,
        `${sizes}, with a summary; 2 requests, cost unknown.`,
      ],
      ["details that are no manifest", { details: { manifest: "odd" } }, 0, `${sizes}.`],
      ["no details", { details: null }, 0, `${sizes}.`],
    ])(([_name, fields, maskedResults, message]) => {
      const words = compactionNotice({ outcome: outcome({}), entry: entry(fields), maskedResults });
      expect(words).toEqual({ level: "info", message });
    }));

  test("warns if the context is still too large", () => {
    const still = "The context still has 20,000 tokens; the model's window is 8,000.";
    const words = compactionNotice({ outcome: outcome({ caveat: still }) });
    expect(words?.message).toBe(`${sizes}. ${still}`);
  });

  test("a failed manual compaction gives the remedy, an automatic one no notice", () => {
    const failed = outcome({ status: "failed", reason: "manual", detail: "Compaction failed. Causes: no." });
    const error = new BonsaiError({
      code: "compaction_failed",
      message: failed.detail,
      hint: "Use the digest.",
    });
    expect(compactionNotice({ outcome: failed, error })).toEqual({
      level: "error",
      message: "Compaction failed. Causes: no. [compaction_failed]\nUse the digest.",
    });
    expect(compactionNotice({ outcome: failed })?.message).toBe("Compaction failed. Causes: no.");
    for (const reason of ["threshold", "overflow"] as const)
      expect(compactionNotice({ outcome: { ...failed, reason }, error })).toBeUndefined();
  });

  test("only a manual compaction reports that nothing was compacted", () => {
    const skipped = outcome({ status: "skipped", detail: "Nothing to compact." });
    expect(compactionNotice({ outcome: skipped })).toBeUndefined();
    expect(compactionNotice({ outcome: { ...skipped, reason: "manual" } })?.message).toBe(skipped.detail);
  });

  test("reports who cancelled", () => {
    const cancelled = (cancelReason?: string) =>
      compactionNotice({ outcome: outcome({ status: "cancelled", ...(cancelReason && { cancelReason }) }) });
    const text = "Compaction cancelled. Nothing changed.";
    expect(cancelled()?.message).toBe(text);
    expect(cancelled("Not now.")?.message).toBe(`${text} Not now.`);
  });
});
