import type { CliIo } from "./io.ts";
import type { Notice, Output } from "./output.ts";

/** Everything that the settings of a call depend on. */
export interface Call {
  /** Flags by their camel-cased long name. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly io: CliIo;
  readonly output: { notify(notice: Notice): void };
}

/** One call of a command, parsed. */
export interface Invocation extends Call {
  /** Arguments in the order of the grammar; an omitted optional one is undefined. */
  readonly args: readonly (string | undefined)[];
  readonly output: Output;
}

/** One call of the agent, parsed: `bonsai [prompt…]`. */
export interface AgentCall extends Omit<Invocation, "args"> {
  /** The words of the prompt as the shell gave them; preliminary while flags are unknown. */
  readonly words: readonly string[];
  /** Flags that only an extension can know. */
  readonly unknownFlags: readonly string[];
  /** The words after `bonsai`. */
  readonly argv: readonly string[];
  readonly version: string;
  /**
   * Reads the call again with the flags of its extensions. The command's own flags win.
   * @throws BonsaiError `wrong_usage` for an unknown flag
   */
  withFlags(flags: ExtensionFlags): FlaggedCall;
}

export interface ExtensionFlag {
  type: "boolean" | "string";
  description?: string;
}

export type ExtensionFlags = ReadonlyMap<string, ExtensionFlag>;

export interface FlaggedCall {
  call: AgentCall;
  /** The given flags of extensions, by name. */
  values: ReadonlyMap<string, boolean | string>;
  /** Names of extensions' flags that no call can set: Bonsai's own flags have the same names. */
  taken: readonly string[];
}

export const ExitCode = { done: 0, failed: 1, usage: 2, cancelled: 130 } as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];
