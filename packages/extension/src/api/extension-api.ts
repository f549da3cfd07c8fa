import { type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import type { Handler, ResultOf } from "@bonsai-agent/lifecycle";
import type { ImageContent, TextContent } from "@bonsai-agent/messages";
import type { CatalogueModel, ThinkingLevel } from "@bonsai-agent/models";
import type { EntryRenderer, ExtensionMessage, MessageRenderer } from "./drawing.ts";
import type { ExtensionCommandContext, ExtensionContext } from "./extension-context.ts";
import type { ExtensionTool, ToolInfo, ToolParameters } from "./extension-tool.ts";
import type { ProviderOptions } from "./provider-options.ts";

/** What an extension's module exports as its default. The host waits for a promise before anything else happens. */
export type ExtensionFactory = (bonsai: ExtensionAPI) => void | Promise<void>;

/** A field that is undefined abstains, as one that is absent: what an event may not have can be handed back as it is. */
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
  /** What a throw of a decide handler means. Default: the event's own policy. */
  onError?: "report" | "cancel" | undefined;
}

export interface SendMessageOptions {
  /** True: an idle agent begins to work. False: a run that would end is not kept going. Default: neither. */
  triggerTurn?: boolean | undefined;
  /**
   * During a run: "steer" before its next request (the default), "followUp" when it would end. At any time: "nextTurn"
   * with the user's next prompt.
   */
  deliverAs?: "steer" | "followUp" | "nextTurn" | undefined;
}

export interface SendUserMessageOptions {
  /** During a run: "steer" before its next request (the default), "followUp" when it would end. */
  deliverAs?: "steer" | "followUp" | undefined;
  /** A text that calls a prompt template or a skill is expanded, as when a user types it. Default false. */
  expandPromptTemplates?: boolean | undefined;
}

/**
 * What an extension can do. Everything that it registers is undone when it is unloaded; what is registered under a name
 * that another extension has takes its place until then, and under a name of its own for good. Calls after that throw `extension_unloaded`; what needs a session throws
 * `extension_not_started` while the module loads. What cannot be registered is a notice, `extension_registration_refused`, and
 * costs the extension nothing else.
 */
export interface ExtensionAPI {
  /** Registers a handler; the function returned takes it out. An event that does not exist is named in a notice. */
  on<Name extends keyof LifecycleEvents & string>(
    event: Name,
    handler: ExtensionHandler<LifecycleEvents[Name]>,
    options?: HandlerOptions,
  ): () => void;

  /** Gives the model a tool, from its next request on. */
  registerTool<Schema extends ToolParameters, Details = unknown>(
    tool: ExtensionTool<Schema, Details>,
  ): () => void;
  /** Gives the user a command, `/name`. */
  registerCommand(name: string, options: CommandOptions): () => void;
  /** Gives the command line a flag, `--name`. */
  registerFlag(name: string, options: FlagOptions): () => void;
  /** Its value on the command line, else its default. */
  getFlag(name: string): FlagValue | undefined;
  /** Gives the interactive mode a key, like `ctrl+shift+k`. */
  registerShortcut(key: string, options: ShortcutOptions): () => void;
  /** Draws messages of this `customType` in the chat of the interactive mode. */
  registerMessageRenderer<Details = unknown>(
    customType: string,
    renderer: MessageRenderer<Details>,
  ): () => void;
  /** Draws entries of `appendEntry` of this `customType` in the chat of the interactive mode. */
  registerEntryRenderer<Data = unknown>(customType: string, renderer: EntryRenderer<Data>): () => void;
  /** Adds a provider of models, or changes one that exists. */
  registerProvider(name: string, options: ProviderOptions): () => void;
  /** Takes away what this extension registered under the name. */
  unregisterProvider(name: string): void;

  /** Puts a message into the conversation; nobody waits for what comes of it, and a failure is a notice. */
  sendMessage<Details = unknown>(message: ExtensionMessage<Details>, options?: SendMessageOptions): void;
  /** As if the user had typed it; an idle agent begins to work. */
  sendUserMessage(content: string | (TextContent | ImageContent)[], options?: SendUserMessageOptions): void;
  /** Stores data in the session that the model never sees. @returns the id of the entry */
  appendEntry<Data = unknown>(customType: string, data?: Data): string;
  /** Names the session as lists show it; fires `session_info_changed`. */
  setSessionName(name: string): void;
  /** Undefined for a session without a name. */
  getSessionName(): string | undefined;
  /** Labels an entry in the tree; undefined takes the label away. */
  setLabel(entryId: string, label: string | undefined): void;

  /** Names of the tools that the model is offered. */
  getActiveTools(): string[];
  /** Built-in ones and those of extensions, offered or not. */
  getAllTools(): ToolInfo[];
  /** Offers the model only these; names that no tool has are left out. */
  setActiveTools(names: string[]): void;
  /**
   * What a prompt can call behind a slash: the commands of extensions, then prompt templates, then skills. Templates and
   * skills are known once the session has started; commands of the program itself are not in it.
   */
  getCommands(): CommandInfo[];

  /** @returns false where the provider has no key */
  setModel(model: CatalogueModel): Promise<boolean>;
  /** How much the model may think before it answers. */
  getThinkingLevel(): ThinkingLevel;
  /** Holds from the next request on. */
  setThinkingLevel(level: ThinkingLevel): void;

  /** Runs a program, without a shell. Never rejects for a program that fails: look at `code`. */
  exec(command: string, args: string[], options?: ExecOptions): Promise<ExecResult>;
  /** Between extensions. */
  readonly events: EventBus;
}

export interface ArgumentCompletion {
  value: string;
  label: string;
  description?: string | undefined;
}

export interface CommandOptions {
  description?: string | undefined;
  /** What the arguments could go on with; null where there is nothing. */
  getArgumentCompletions?(prefix: string): ArgumentCompletion[] | null | Promise<ArgumentCompletion[] | null>;
  /** `args`: what stands behind the command's name, trimmed. */
  handler(args: string, ctx: ExtensionCommandContext): void | Promise<void>;
}

/** What can stand behind a slash. */
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
  /** What may stand behind the name, like `[focus]`. */
  argumentHint?: string | undefined;
  source: "prompt" | "skill";
  /** Its file. */
  path: string;
  /** Where it was found: whose it is, and the package that brings it. */
  place: {
    origin: "package" | "user" | "project" | "settings" | "extension" | "flag";
    from?: string;
  };
}

export interface ShortcutOptions {
  description?: string | undefined;
  handler(ctx: ExtensionContext): void | Promise<void>;
}

/** A key that an extension took. */
export interface ShortcutInfo extends ShortcutOptions {
  /** The extension's path as people read it. */
  source: string;
}

export type FlagValue = boolean | string;

export type FlagOptions =
  | { description?: string | undefined; type: "boolean"; default?: boolean | undefined }
  | { description?: string | undefined; type: "string"; default?: string | undefined };

export interface ExecOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds; after that the program is killed. Default: no limit. */
  timeout?: number | undefined;
  /** Default: the working folder. */
  cwd?: string | undefined;
  /** Laid over the environment; undefined takes a variable out. Default: the environment as it is. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface ExecResult {
  /** Up to 10 MB, head and tail; `stderr` alike. */
  stdout: string;
  stderr: string;
  /** The exit code; 1 where the program was killed or could not be started. */
  code: number;
  /** True where a signal or the timeout ended it. */
  killed: boolean;
}

/** Messages between extensions, on channels that they agree on. */
export interface EventBus {
  /** Handlers run at once, in the order in which they came; one that throws is reported and disturbs no other. */
  emit(channel: string, data?: unknown): void;
  /** The function returned takes the handler out. */
  on(channel: string, handler: (data: unknown) => void | Promise<void>): () => void;
}

/** Every event that there is, for an extension that listens to all of them. */
export const lifecycleEventNames: readonly (keyof LifecycleEvents & string)[] = Object.freeze(
  Object.keys(lifecycleEventRules) as (keyof LifecycleEvents & string)[],
);
