import type { StreamingBehavior } from "@bonsai-agent/agent";
import type { FrontEndUI } from "@bonsai-agent/extension/host";
import type { SearchThread } from "@bonsai-agent/session/search";
import type { AgentHost } from "../call/agent-host.ts";
import type { AgentCall } from "../call/invocation.ts";
import type { ChatView } from "./chat/chat-view.ts";
import type { Notify } from "./chat/line-block.ts";
import type { PromptEditor } from "./prompt/prompt-editor.ts";
import type { Status } from "./status/status.ts";
import type { ActionName } from "./terminal/keys.ts";
import type { Screen } from "./terminal/screen.ts";
import type { Theme } from "./terminal/theme.ts";
import type { ThemeControl } from "./terminal/theme-control.ts";
import type { AutocompleteItem } from "./terminal/tui.ts";

/** The parts of the interactive mode. Slash commands, keys and panels all get this one object. */
export interface InteractiveContext {
  readonly call: AgentCall;
  readonly home: string;
  readonly screen: Screen;
  readonly theme: Theme;
  readonly themes: ThemeControl;
  readonly chat: ChatView;
  readonly status: Status;
  readonly editor: PromptEditor;
  /** The dialogs of extensions. */
  readonly ui: FrontEndUI;
  readonly isOpen: boolean;
  /** @throws before the session is open */
  readonly host: AgentHost;
  /** Searches the entries of all recorded sessions. @throws before the extensions are loaded */
  readonly search: SearchThread;
  notify: Notify;
  /** Sends a command, a `!` command or a prompt; queued while the agent works, default "steer". */
  submit(text: string, behavior?: StreamingBehavior): void;
  /** Runs the command of a key. A refused one does not come into the editor. */
  pressed(command: string): void;
  /** Compacts with the cut at an entry, like `/compact`. */
  compactBefore(entryId: string, focus: string | undefined): void;
  /** Runs a task that Esc aborts instead of the agent. */
  interruptible<Value>(task: (signal: AbortSignal) => Promise<Value>): Promise<Value>;
  readonly quitSignal: AbortSignal;
  quit(): void;
}

/** A slash command, `/name arguments`. Help, completion and the reference list it from these fields. */
export interface SlashCommand {
  readonly name: string;
  readonly description: string;
  /** The arguments, like `[focus]`. */
  readonly argumentHint?: string;
  /** The key that runs it. */
  readonly key?: ActionName;
  /** True if it runs while the agent works. Default false: it has to wait. */
  readonly worksWhileBusy?: boolean;
  complete?(prefix: string, context: InteractiveContext): AutocompleteItem[] | Promise<AutocompleteItem[]>;
  /** An error becomes a notice. */
  run(args: string, context: InteractiveContext): unknown;
}
