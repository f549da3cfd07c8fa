import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contentText } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { SessionSearch } from "@bonsai-agent/session/search";
import { afterEach, beforeEach } from "vitest";
import { recallTool } from "../src/recall/recall-tool.ts";
import { checkedInput } from "../src/run/tool-call.ts";
import { agentSettings } from "../src/settings.ts";
import type { ToolResult } from "../src/tools/tool-registry.ts";

export let home: string;

/** Gives each test of the calling file a home folder of its own. */
export function eachWithHome(): void {
  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-recall-")));
  });
  afterEach(() => rmSync(home, { recursive: true }));
}

export const logOf = (lines: number) =>
  Array.from({ length: lines }, (_, at) =>
    at === 210 ? "2026-01-05 deploy: staging listens on port 48213" : `2026-01-05 step ${at} is done`,
  ).join("\n");

export const LOG = logOf(300);

/** A log, behind a compaction that keeps what came after it. */
export const COMPACTED = `U"deploy it" A(t1=bash:./deploy.sh) T1"${LOG}" A"Deployed." | U"go on" A"ok" C(u2)`;

export function recall(session: Session, settings: Record<string, unknown> = {}, index = false) {
  const search = new SessionSearch({ home, index });
  const tool = recallTool({ session, home, search, settings: agentSettings({ recall: settings }).recall });
  return async (input: Record<string, unknown>): Promise<ToolResult> => {
    const checked = checkedInput(tool, input);
    if (!checked.ok) throw new Error(checked.problem);
    const signal = new AbortController().signal;
    return tool.execute({ toolCallId: "r", input: checked.input, signal, onUpdate: () => {} });
  };
}

export const textOf = ({ content }: ToolResult) => contentText(content);

export const idsOf = ({ details }: ToolResult) => (details as { recalled: string[] }).recalled;
