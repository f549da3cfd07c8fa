import type { CompactionController, Summariser } from "@bonsai-agent/compaction";
import type { ModelClient } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { Events } from "./events/events.ts";
import type { ModelSelection } from "./model-selection.ts";
import type { AgentNotice } from "./notice.ts";
import type { OwnWork } from "./own-work.ts";
import type { Patience } from "./run/patience.ts";
import type { InputQueue } from "./run/queue.ts";
import type { ConfirmLongRun } from "./run/request-limit.ts";
import type { SystemPromptInUse } from "./run/system-prompt-in-use.ts";
import type { AgentSettings } from "./settings/settings-schema.ts";
import type { CachedPrefix } from "./summary/cached-prefix.ts";
import type { ToolRegistry } from "./tool-registry.ts";

/** What the rooms of one agent share: each owner of one thing. */
export interface Workplace {
  readonly session: Session;
  readonly events: Events;
  readonly patience: Patience;
  readonly ownWork: OwnWork;
  readonly models: ModelClient;
  /** As they are now: a front end can change those of compactions. */
  settings: AgentSettings;
  readonly tools: ToolRegistry;
  readonly queue: InputQueue;
  readonly selection: ModelSelection;
  readonly prefix: CachedPrefix;
  readonly summariser: Summariser;
  readonly controller: CompactionController;
  readonly systemPrompt: SystemPromptInUse;
  /** What every request holds beside its messages. */
  readonly fixedTexts: () => readonly string[];
  /** Absent where nobody can be asked. */
  readonly confirmLongRun: ConfirmLongRun | undefined;
  readonly onNotice: (notice: AgentNotice) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
