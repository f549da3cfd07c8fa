import type { StreamingBehavior } from "@bonsai-agent/agent";
import type { FrontEndUI } from "@bonsai-agent/extension/host";
import type { SearchThread } from "@bonsai-agent/session/search";
import type { AgentHost } from "../call/agent-host.ts";
import type { ChatView } from "./chat/chat-view.ts";
import type { Notify } from "./chat/line-block.ts";
import type { PromptEditor } from "./prompt/prompt-editor.ts";
import type { Screen } from "./terminal/screen.ts";
import type { Theme } from "./terminal/theme.ts";
import type { ThemeControl } from "./terminal/theme-control.ts";
import type { AutocompleteItem } from "./terminal/tui.ts";

/** What slash commands, keys and panels get of the interactive mode. */
export interface InteractiveContext {
  readonly host: AgentHost;
  readonly screen: Screen;
  readonly theme: Theme;
  /** Which theme is in use, and which there are. */
  readonly themes: ThemeControl;
  readonly chat: ChatView;
  readonly editor: PromptEditor;
  /** Dialogs, as extensions have them too. */
  readonly ui: FrontEndUI;
  /** Finds entries of all recorded sessions. */
  readonly search: SearchThread;
  notify: Notify;
  /** Sends what was typed: a command, a `!` command, or a prompt; queued while the agent works, default "steer". */
  submit(text: string, behavior?: StreamingBehavior): void;
  /** Runs the command that a key stands for; where it is refused, nothing comes into the editor. */
  pressed(command: string): void;
  /** Compacts with the cut at an entry, like `/compact`. */
  compactBefore(entryId: string, focus: string | undefined): void;
  /** To be called when the context has changed without an event. */
  contextChanged(): void;
  /** Runs what Esc aborts before it stops the agent. */
  interruptible<Value>(task: (signal: AbortSignal) => Promise<Value>): Promise<Value>;
  /** Ends the program in good order. */
  quit(): void;
}

/** A command that the user types, `/name arguments`. */
export interface SlashCommand {
  readonly name: string;
  /** One line for /help and the completion. */
  readonly description: string;
  /** What may stand behind the name, like `[focus]`. */
  readonly argumentHint?: string;
  /** True where it can run while the agent works. Default false: the user has to wait or press Esc. */
  readonly worksWhileBusy?: boolean;
  complete?(prefix: string, context: InteractiveContext): AutocompleteItem[] | Promise<AutocompleteItem[]>;
  /** What it throws is a notice. */
  run(args: string, context: InteractiveContext): void | Promise<void>;
}
