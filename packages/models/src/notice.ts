import type { IgnoredUsage } from "./counted-tokens.ts";
import type { ModelFailure } from "./failure.ts";
import type { Repair } from "./repair/repair.ts";

/** What happened on the way of a request that somebody should know and that did not stop it. */
export type ModelNotice =
  | {
      type: "retry";
      /** 1 for the first retry. */
      attempt: number;
      maxAttempts: number;
      delayMs: number;
      failure: ModelFailure;
    }
  | { type: "repair"; repairs: readonly Repair[] }
  | { type: "output_cap_lowered"; fromTokens: number; toTokens: number }
  | { type: "window_learned"; fromTokens: number | undefined; toTokens: number }
  /** Once for each model of a client. */
  | ({ type: "usage_ignored"; provider: string; modelId: string } & IgnoredUsage);
