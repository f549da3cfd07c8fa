import type { CliIo } from "./io.ts";
import type { Output } from "./output.ts";

/** One call of a command, parsed. */
export interface Invocation {
  /** Arguments in the order of the grammar; an optional one that was left out is undefined. */
  readonly args: readonly (string | undefined)[];
  /** Flags by their camel-cased long name. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly io: CliIo;
  readonly output: Output;
}

/** One call of the agent, parsed: `bonsai [prompt…]`. */
export interface AgentCall extends Omit<Invocation, "args"> {
  /** The words of the prompt, each as the shell gave it; preliminary while flags are unknown. */
  readonly words: readonly string[];
  /** Flags that only an extension can know. */
  readonly unknownFlags: readonly string[];
  /** What stands behind `bonsai`. */
  readonly argv: readonly string[];
  /** Of the program. */
  readonly version: string;
  /**
   * Reads the call again, now with the flags of its extensions. A flag of ours that an extension has too stays ours.
   * @throws BonsaiError `wrong_usage` for a flag that nobody knows
   */
  withFlags(flags: ExtensionFlags): FlaggedCall;
}

/** What is known of a flag that an extension registered. */
export interface ExtensionFlag {
  type: "boolean" | "string";
  description?: string;
}

export type ExtensionFlags = ReadonlyMap<string, ExtensionFlag>;

/** A call, read with the flags of its extensions. */
export interface FlaggedCall {
  call: AgentCall;
  /** The extensions' flags that were given, by name. */
  values: ReadonlyMap<string, boolean | string>;
  /** Names of extensions' flags that no call can set: Bonsai's own flags have the same names. */
  taken: readonly string[];
}

/** How the process ends. */
export const ExitCode = { done: 0, failed: 1, usage: 2, cancelled: 130 } as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];
