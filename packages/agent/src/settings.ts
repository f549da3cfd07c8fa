import { type CompactionSettings, compactionSettings } from "@bonsai-agent/compaction";
import { defaultRetryPolicy, type RetryPolicy, type ThinkingLevel } from "@bonsai-agent/models";

/** How an agent works. */
export interface AgentSettings {
  /** `provider/id` of the model to start with. */
  model?: string | undefined;
  /** `provider/id` of a cheap model for titles and session summaries. Default: the digest, no request. */
  smallModel?: string | undefined;
  thinking: ThinkingLevel;
  /** Names of the tools that the model is offered. Default: all. */
  tools?: readonly string[] | undefined;
  compaction: CompactionSettings;
  /** Folders beyond the project that tools may touch. */
  paths: { allow: readonly string[] };
  bash: { timeoutSeconds: number };
  retry: RetryPolicy;
  /** Name sessions after their first exchange. */
  titles: boolean;
  /** Files with project instructions; in each folder the first that exists is read. */
  instructionFiles: readonly string[];
}

/** What a user writes of it; all of it may be left out. */
export type AgentSettingsInput = Partial<AgentSettings>;

/** Fills in the defaults. */
export function agentSettings(input: AgentSettingsInput): AgentSettings {
  return {
    thinking: "off",
    compaction: compactionSettings({}),
    paths: { allow: [] },
    bash: { timeoutSeconds: 120 },
    retry: defaultRetryPolicy,
    titles: true,
    instructionFiles: ["AGENTS.md", "CLAUDE.md"],
    ...input,
  };
}
