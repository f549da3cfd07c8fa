import { type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import type { Handler, ResultOf } from "@bonsai-agent/lifecycle";
import type { ImageContent, TextContent } from "@bonsai-agent/messages";
import type { CatalogueModel, ThinkingLevel } from "@bonsai-agent/models";
import type { EntryRenderer, ExtensionMessage, MessageRenderer } from "./drawing.ts";
import type { ExtensionCommandContext, ExtensionContext } from "./extension-context.ts";
import type { ExtensionTool, ToolInfo, ToolParameters } from "./extension-tool.ts";
import type { ProviderOptions } from "./provider-options.ts";

/** The default export of an extension's module. The host waits for its promise. */
export type ExtensionFactory = (bonsai: ExtensionAPI) => void | Promise<void>;

/** A handler may return optional fields as undefined: they count as absent. */
type Abstaining<Result> = Result extends unknown
  ? {
      [Field in keyof Result]:
        | Result[Field]
        | (Record<never, never> extends Pick<Result, Field> ? undefined : never);
    }
  : never;

type Returned<Event> = Abstaining<ResultOf<Event>> | undefined | void;

/** A handler of one event. Handlers run in load order, then registration order, each awaited. */
type ExtensionHandler<Event> = (
  event: Parameters<Handler<Event>>[0],
  ctx: ExtensionContext,
) => Returned<Event> | Promise<Returned<Event>>;

export interface HandlerOptions {
  /** The meaning of an error in a decide handler. Default: the event's own policy. */
  onError?: "report" | "cancel" | undefined;
}

export interface SendMessageOptions {
  /** True: starts an idle agent. False: does not prolong a run that would end. Default: neither. */
  triggerTurn?: boolean | undefined;
  /**
   * During a run: "steer" before its next request (default), "followUp" when it would end. "nextTurn": with the next
   * prompt.
   */
  deliverAs?: "steer" | "followUp" | "nextTurn" | undefined;
}

export interface SendUserMessageOptions {
  /** During a run: "steer" before its next request (default), "followUp" when it would end. */
  deliverAs?: "steer" | "followUp" | undefined;
  /** Expands a text that calls a prompt template or a skill, as for a user. Default false. */
  expandPromptTemplates?: boolean | undefined;
}

/**
 * The API of an extension. Unloading the extension undoes its registrations. Then each call throws
 * `extension_unloaded`. Calls that need a session throw `extension_not_started` while the module loads. A failed
 * registration is a notice, `extension_registration_refused`; the rest of the extension works. A second registration of
 * a name replaces the extension's first.
 */
export interface ExtensionAPI {
  /** Registers a handler; the function returned removes it. An unknown event is a notice. */
  on<Name extends keyof LifecycleEvents & string>(
    event: Name,
    handler: ExtensionHandler<LifecycleEvents[Name]>,
    options?: HandlerOptions,
  ): () => void;

  /** Adds a tool, from the next request on. */
  registerTool<Schema extends ToolParameters, Details = unknown>(
    tool: ExtensionTool<Schema, Details>,
  ): () => void;
  /** Adds a command, `/name`. */
  registerCommand(name: string, options: CommandOptions): () => void;
  /** Adds a flag to the command line, `--name`. */
  registerFlag(name: string, options: FlagOptions): () => void;
  /** The value on the command line, else the default. */
  getFlag(name: string): FlagValue | undefined;
  /** Adds a key to the interactive mode, like `ctrl+shift+k`. */
  registerShortcut(key: string, options: ShortcutOptions): () => void;
  /** Draws messages of this `customType` in the chat of the interactive mode. */
  registerMessageRenderer<Details = unknown>(
    customType: string,
    renderer: MessageRenderer<Details>,
  ): () => void;
  /** Draws entries of `appendEntry` of this `customType` in the chat of the interactive mode. */
  registerEntryRenderer<Data = unknown>(customType: string, renderer: EntryRenderer<Data>): () => void;
  /** Adds a provider of models, or changes an existing one. */
  registerProvider(name: string, options: ProviderOptions): () => void;
  /** Undoes this extension's registrations of a provider. */
  unregisterProvider(name: string): void;

  /** Adds a message to the conversation. Returns at once; a failure is a notice. */
  sendMessage<Details = unknown>(message: ExtensionMessage<Details>, options?: SendMessageOptions): void;
  /** Sends a text as if the user had typed it. Starts an idle agent. */
  sendUserMessage(content: string | (TextContent | ImageContent)[], options?: SendUserMessageOptions): void;
  /** Stores data in the session; the model never sees it. @returns the id of the entry */
  appendEntry<Data = unknown>(customType: string, data?: Data): string;
  /** Names the session; fires `session_info_changed`. */
  setSessionName(name: string): void;
  /** Undefined for a session without a name. */
  getSessionName(): string | undefined;
  /** Labels an entry in the tree; undefined removes the label. */
  setLabel(entryId: string, label: string | undefined): void;

  /** The names of the tools that the model can use. */
  getActiveTools(): string[];
  /** All tools, active or not. */
  getAllTools(): ToolInfo[];
  /** Lets the model use only these tools. Ignores unknown names. */
  setActiveTools(names: string[]): void;
  /**
   * The commands that a prompt can call: of extensions, then prompt templates, then skills (both after the session's
   * start). Without built-in commands.
   */
  getCommands(): CommandInfo[];

  /** @returns false if the provider has no key */
  setModel(model: CatalogueModel): Promise<boolean>;
  getThinkingLevel(): ThinkingLevel;
  /** Applies from the next request on. */
  setThinkingLevel(level: ThinkingLevel): void;

  /** Runs a program, without a shell. Never rejects: look at `code`. */
  exec(command: string, args: string[], options?: ExecOptions): Promise<ExecResult>;
  /** Messages between extensions. */
  readonly events: EventBus;
}

export interface ArgumentCompletion {
  value: string;
  label: string;
  description?: string | undefined;
}

export interface CommandOptions {
  description?: string | undefined;
  /** Completions of the arguments; null for none. */
  getArgumentCompletions?(prefix: string): ArgumentCompletion[] | null | Promise<ArgumentCompletion[] | null>;
  /** `args`: the text after the command's name, trimmed. */
  handler(args: string, ctx: ExtensionCommandContext): void | Promise<void>;
}

/** A command that a prompt can call. */
export type CommandInfo = ExtensionCommandInfo | ResourceCommandInfo;

export interface ExtensionCommandInfo {
  /** Without the slash. */
  name: string;
  description?: string;
  source: "extension";
  /** The extension's path. */
  extensionPath: string;
}

/** A prompt template, or a skill that users may call. */
export interface ResourceCommandInfo {
  /** Without the slash: `frontend:component`, `skill:pdf`. */
  name: string;
  description: string;
  /** A hint for the arguments, like `[focus]`. */
  argumentHint?: string | undefined;
  source: "prompt" | "skill";
  /** Its file. */
  path: string;
  /** Its origin and its package. */
  place: {
    origin: "package" | "user" | "project" | "settings" | "extension" | "flag";
    from?: string;
  };
}

export interface ShortcutOptions {
  description?: string | undefined;
  handler(ctx: ExtensionContext): void | Promise<void>;
}

/** A registered key. */
export interface ShortcutInfo extends ShortcutOptions {
  /** The extension's path, for people. */
  source: string;
}

export type FlagValue = boolean | string;

export type FlagOptions =
  | { description?: string | undefined; type: "boolean"; default?: boolean | undefined }
  | { description?: string | undefined; type: "string"; default?: string | undefined };

export interface ExecOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds until the program is killed. Default: no limit. */
  timeout?: number | undefined;
  /** Default: the working folder. */
  cwd?: string | undefined;
  /** Changes to the environment; undefined removes a variable. Default: none. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface ExecResult {
  /** Up to 10 MB, head and tail; `stderr` alike. */
  stdout: string;
  stderr: string;
  /** The exit code; 1 if the program was killed or could not be started. */
  code: number;
  /** True if a signal or the timeout ended it. */
  killed: boolean;
}

/** Messages between extensions, on channels that they agree on. */
export interface EventBus {
  /** Calls the handlers at once, in order. One that throws is reported and disturbs no other. */
  emit(channel: string, data?: unknown): void;
  /** The function returned removes the handler. */
  on(channel: string, handler: (data: unknown) => void | Promise<void>): () => void;
}

/** All events, for an extension that listens to each of them. */
export const lifecycleEventNames: readonly (keyof LifecycleEvents & string)[] = Object.freeze(
  Object.keys(lifecycleEventRules) as (keyof LifecycleEvents & string)[],
);
