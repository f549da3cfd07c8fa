import type { CompactionController, Summariser } from "@bonsai-agent/compaction";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { ModelClient } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { LifecycleEvents } from "./lifecycle-events.ts";
import type { ModelSelection } from "./model-selection.ts";
import type { AgentNotice } from "./notice.ts";
import type { InputQueue } from "./queue.ts";
import type { AgentSettings } from "./settings-schema.ts";
import type { ToolRegistry } from "./tool-registry.ts";

/** What the rooms of one agent share: each owner of one thing. */
export interface Workplace {
  readonly session: Session;
  readonly lifecycle: Lifecycle<LifecycleEvents>;
  readonly models: ModelClient;
  readonly settings: AgentSettings;
  readonly tools: ToolRegistry;
  readonly queue: InputQueue;
  readonly selection: ModelSelection;
  readonly summariser: Summariser;
  readonly controller: CompactionController;
  /** The system prompt without what extensions make of it for one run. */
  readonly systemPrompt: () => string;
  readonly onNotice: (notice: AgentNotice) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
