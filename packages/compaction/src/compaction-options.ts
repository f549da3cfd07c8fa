import type { TokenEstimator } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import type { ModelSizes } from "./budget.ts";
import type { CompactionLifecycle } from "./events.ts";
import type { CompactionReason } from "./outcome.ts";
import type { Refusal } from "./refusal.ts";
import type { CompactionSettings } from "./settings-schema.ts";
import type { Summariser } from "./summariser.ts";

/** What is compacted, how, and by whom. */
export interface RunCompactionOptions {
  session: Session;
  /** Default "manual". */
  reason?: CompactionReason;
  settings: CompactionSettings;
  /** The session's model; without a window, budgets are not scaled and nothing but a summary is the goal. */
  model?: ModelSizes;
  /** For the reason "overflow": what the provider told. Default: nothing. */
  refusal?: Refusal;
  /** The model that summarises; without one, the digest does. */
  summariser?: Summariser;
  /** Default: the built-in digest. */
  digest?: Summariser;
  /** Default: as the settings say. */
  estimator?: TokenEstimator;
  /** What the summary should dwell on. */
  focus?: string;
  /**
   * True while a task goes on: as much is kept as by threshold, whatever `manualKeep` says, for the model has not seen
   * the newest results yet. Default false.
   */
  isMidTask?: boolean;
  /** What every request holds beside its messages, system prompt and tools: counted until usage has taught how much that is. */
  fixedTexts?: (() => readonly string[]) | undefined;
  /** Texts to carry through this and all later compactions. */
  pinned?: readonly string[];
  lifecycle?: CompactionLifecycle;
  signal?: AbortSignal;
  /** Called when everything is written, before the after-events: releases whatever lock the caller holds. */
  onCommitted?: () => void;
}
