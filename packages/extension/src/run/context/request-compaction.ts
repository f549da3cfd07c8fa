import type { CompactionOutcome } from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import type { CompactOptions } from "../../api/extension-context.ts";
import { failureText } from "../extension-errors.ts";
import type { ScopedHost } from "../scoped-host.ts";
import type { ContextExtras } from "./context-extras.ts";

/**
 * Asks for a compaction, which nobody waits for. Invariant: exactly one of `onComplete` and `onError` is called, once,
 * and not before the call has returned.
 */
export function requestCompaction(
  host: ScopedHost,
  { extensionPath }: Pick<ContextExtras, "extensionPath">,
  { customInstructions, onComplete, onError }: CompactOptions = {},
): void {
  const report = (error: unknown) => {
    const message = failureText(`What ${extensionPath} does after a compaction`, error);
    host.onNotice({ level: "warning", code: "extension_callback_failed", message });
  };
  const told = async () => {
    const result = await compacted(host, customInstructions);
    if ("error" in result) await onError?.(result.error);
    else await onComplete?.(result);
  };
  told().catch(report);
}

type Compacted = Parameters<NonNullable<CompactOptions["onComplete"]>>[0] | { error: Error };

async function compacted(host: ScopedHost, focus: string | undefined): Promise<Compacted> {
  try {
    const agent = host.agent();
    // Nothing may be called before the caller's call is over.
    await Promise.resolve();
    if (agent === undefined) throw noAgent();
    const outcome = await agent.requestCompaction(focus === undefined ? {} : { focus });
    if (outcome.status === "masked") return { outcome };
    if (outcome.status !== "compacted") return { error: notCompacted(outcome) };
    const compactionEntry = agent.session.projection().compaction;
    return { outcome, ...(compactionEntry === undefined ? {} : { compactionEntry }) };
  } catch (error) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }
}

function noAgent(): BonsaiError {
  return new BonsaiError({
    code: "extension_needs_agent",
    message: "Nothing was compacted: no agent is at work on this session.",
    hint: "Compact from a prompt, or with `bonsai compact FILE`.",
  });
}

function notCompacted({ status, detail }: CompactionOutcome): BonsaiError {
  return new BonsaiError({
    code: "extension_not_compacted",
    message: `The compaction ${status === "failed" ? "failed" : `was ${status}`}: ${detail}`,
    hint: status === "skipped" ? "There is nothing to do." : "Look at what the message says, and ask again.",
  });
}
