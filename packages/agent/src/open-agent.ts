import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { CatalogueModel, ModelClient } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import { Agent } from "./agent.ts";
import type { ConfirmPath } from "./confirm-path.ts";
import type { LifecycleEvents } from "./lifecycle-events.ts";
import type { AgentNotice } from "./notice.ts";
import type { AgentSettings } from "./settings-schema.ts";
import type { Tool } from "./tool.ts";
import { commandRunner } from "./tools/command-runner.ts";

export interface OpenAgentOptions {
  session: Session;
  /** The project: where tools work and project instructions are looked for. Absolute. */
  cwd: string;
  /** Where Bonsai's own files are. Default: `bonsaiHome()`. */
  home?: string;
  settings: AgentSettings;
  models: ModelClient;
  /** The model to work with; what the session was last worked on with is not looked at. */
  model: CatalogueModel;
  /** A cheap model for titles. Default: the digest, no request. */
  smallModel?: CatalogueModel;
  /** Default: one without handlers. */
  lifecycle?: Lifecycle<LifecycleEvents>;
  /** Beside the built-in ones; one of the same name takes their place. */
  tools?: readonly Tool[];
  onNotice?: (notice: AgentNotice) => void;
  /** Asks about paths beyond the project. Default: they are refused. */
  confirmPath?: ConfirmPath;
  /** A sub-agent has no threshold compaction, no sub-agents of its own, and gets no title. Default false. */
  isSubAgent?: boolean;
}

/** An agent with the built-in tools, the task tool, the project's instructions and the system prompt. */
export async function openAgent(options: OpenAgentOptions): Promise<Agent> {
  const { session, cwd, models, model, settings, lifecycle, tools = [], onNotice, isSubAgent } = options;
  return new Agent({
    session,
    models,
    model,
    settings,
    tools,
    systemPrompt: "You are a coding agent.",
    runCommand: commandRunner({ cwd }),
    ...(lifecycle === undefined ? {} : { lifecycle }),
    ...(onNotice === undefined ? {} : { onNotice }),
    ...(isSubAgent === undefined ? {} : { isSubAgent }),
  });
}
