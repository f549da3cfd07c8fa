import type { AgentNotice, StreamingBehavior } from "@bonsai-agent/agent";
import type { AgentHost } from "@bonsai-agent/app/agent-host";
import type { FrontEndUI } from "@bonsai-agent/extension/host";
import type { ChatView } from "./chat/chat-view.ts";
import type { Attempt } from "./chat/line-block.ts";
import type { PromptEditor } from "./prompt/prompt-editor.ts";
import type { Screen } from "./terminal/screen.ts";
import type { Theme } from "./terminal/theme.ts";
import type { AutocompleteItem } from "./terminal/tui.ts";

/** A line that is told in the chat. */
export interface Told extends Pick<AgentNotice, "message"> {
  level: AgentNotice["level"] | "error";
  /** An entry that it speaks of: on a path without it, the line has no place. */
  aboutEntryId?: string | undefined;
  /** What came to nothing: once another attempt at it succeeds, the line is out of date. */
  attempt?: Attempt | undefined;
}

/** What slash commands, keys and panels work on. */
export interface InteractiveContext {
  readonly host: AgentHost;
  readonly screen: Screen;
  readonly theme: Theme;
  readonly chat: ChatView;
  readonly editor: PromptEditor;
  /** Dialogs, as extensions have them too. */
  readonly ui: FrontEndUI;
  /** A line in the chat that is no part of the session. */
  tell(notice: Told): void;
  /** Sends what was typed: a command, a `!` command, or a prompt; queued while the agent works, default "steer". */
  submit(text: string, behavior?: StreamingBehavior): void;
  /** Runs the command that a key stands for; where it is refused, nothing comes into the editor. */
  pressed(command: string): void;
  /** To be called when the context has changed and no event tells of it. */
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
  /** True where it can run while the agent works. Default false: the user is told to wait or press Esc. */
  readonly worksWhileBusy?: boolean;
  complete?(prefix: string, work: InteractiveContext): AutocompleteItem[] | Promise<AutocompleteItem[]>;
  /** A throw is told, and nothing else happens. */
  run(args: string, work: InteractiveContext): void | Promise<void>;
}
