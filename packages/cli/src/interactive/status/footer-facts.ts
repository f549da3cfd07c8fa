import type { ThinkingLevel } from "@bonsai-agent/models";

/** How far the number of tokens can be trusted: told by the provider, estimated, or not counted yet. */
export type ContextCertainty = "reported" | "estimate" | "unknown";

/** What the footer shows. */
export interface FooterFacts {
  /** As it is shown: with `~` for the user's home. */
  folder: string;
  /** Absent outside of a git repository. */
  branch?: string | undefined;
  sessionName?: string | undefined;
  /** Absent where no model can be used yet. */
  model?: { provider: string; id: string } | undefined;
  /** Absent for a model that cannot think. */
  thinking?: ThinkingLevel | undefined;
  tokens: number;
  /** Absent where it is unknown. */
  windowTokens?: number | undefined;
  certainty: ContextCertainty;
  costUsd: number;
  /** True where more was spent than is known. Default: false. */
  isCostPartial?: boolean | undefined;
  /** Short texts of extensions. */
  statuses: readonly string[];
}
