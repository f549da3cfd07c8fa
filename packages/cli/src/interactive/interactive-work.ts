import type { AgentNotice } from "@bonsai-agent/agent";
import type { ExtensionUI } from "@bonsai-agent/extension";
import type { AgentHost } from "../work/agent-host.ts";
import type { ChatView } from "./chat/chat-view.ts";
import type { PromptEditor } from "./prompt/prompt-editor.ts";
import type { Screen } from "./screen.ts";
import type { Theme } from "./theme/theme.ts";

/** What slash commands, keys and panels work on. */
export interface InteractiveWork {
  readonly host: AgentHost;
  readonly screen: Screen;
  readonly theme: Theme;
  readonly chat: ChatView;
  readonly editor: PromptEditor;
  /** Dialogs, as extensions have them too. */
  readonly ui: ExtensionUI;
  /** A line in the chat that is no part of the session. */
  tell(notice: Pick<AgentNotice, "level" | "message">): void;
  /** Sends what was typed: a command, a `!` command, or a prompt; queued while the agent works. */
  submit(text: string): void;
  /** Ends the program in good order. */
  quit(): void;
}
