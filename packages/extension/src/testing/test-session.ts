import type { Agent, AgentNotice, LifecycleEvents, RunResult } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { ProviderCall } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { Extensions } from "../run/extensions.ts";
import type { UICall } from "./scripted-ui.ts";

/** A session at work with extensions, whose model and user say what was written down. */
export interface TestSession {
  /** Throws where the session was opened without one. */
  readonly agent: Agent;
  readonly session: Session;
  readonly extensions: Extensions;
  readonly lifecycle: Lifecycle<LifecycleEvents>;
  /** Where tools work, absolute. */
  readonly cwd: string;
  /** What users are told beside the conversation: failures of extensions among it. */
  readonly notices: readonly AgentNotice[];
  /** Calls of `ctx.ui`, in order. */
  readonly ui: readonly UICall[];
  /** What models were asked, in order; `purpose` tells turns from summaries and from what extensions asked. */
  readonly requests: readonly ProviderCall[];
  /** True once an extension asked for the end of the program. */
  readonly isShutdown: boolean;
  /** What the user says. Resolves when the agent has nothing more to do. */
  prompt(text: string): Promise<RunResult>;
  /** `/name arguments` of an extension. @throws BonsaiError `extension_command_unknown`, `extension_command_failed` */
  command(text: string): Promise<void>;
  /** Ends agent, session and extensions, and removes the session's own folder. A second call does nothing. */
  close(): Promise<void>;
  /** As `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
