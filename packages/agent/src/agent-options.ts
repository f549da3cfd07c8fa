import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { ImageContent } from "@bonsai-agent/messages";
import type { CatalogueModel, ModelClient } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { LifecycleEvents } from "./events/lifecycle-events.ts";
import type { AgentNotice } from "./notice.ts";
import type { InputSource, StreamingBehavior } from "./run/prompt-input.ts";
import type { ConfirmLongRun } from "./run/request-limit.ts";
import type { RunFollower } from "./run/run-follower.ts";
import type { RunCommand } from "./run-command.ts";
import type { AgentSettings } from "./settings/settings-schema.ts";
import type { Tool } from "./tool.ts";

/** An agent from its parts; `openAgent` puts the built-in ones together. */
export interface AgentOptions {
  session: Session;
  models: ModelClient;
  model: CatalogueModel;
  settings: AgentSettings;
  tools: readonly Tool[];
  /** Default: one without handlers. */
  lifecycle?: Lifecycle<LifecycleEvents>;
  /** A function is asked at the start of each run, with the tools that the model is offered then. */
  systemPrompt: string | ((tools: readonly Tool[]) => string);
  /** A sub-agent has no threshold compaction. Default false. */
  isSubAgent?: boolean;
  /** Runs what the user types behind `!`. Default: commands are refused. */
  runCommand?: RunCommand;
  /** Called after each run, in this order. */
  followers?: readonly RunFollower[];
  /** Asks whether a run may go on that has made `limits.runRequests` requests. Default: it ends. */
  confirmLongRun?: ConfirmLongRun;
  /** Must not throw. */
  onNotice?: (notice: AgentNotice) => void;
  /** Milliseconds since the epoch. Default: the clock. */
  now?: () => number;
}

export interface PromptOptions {
  images?: readonly ImageContent[];
  /** Default "print". */
  source?: InputSource;
  /** How the text is delivered while a run is under way; without it, that is an error. */
  behavior?: StreamingBehavior;
}
