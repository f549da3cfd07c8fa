import type { ExitCode } from "./exit-code.ts";
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
  /** What was said of the flags of extensions; undefined where none was given. */
  readonly extensionFlags?: ReadonlyMap<string, boolean | string>;
}

/** What a module in `commands/` exports as `run`. Returns the exit code; nothing means done. */
export type Command = (invocation: Invocation) => Promise<ExitCode | undefined>;

/** One call of the agent, parsed: `bonsai [prompt…]`. */
export interface AgentCall extends Omit<Invocation, "args"> {
  /** The words of the prompt, each as the shell gave it; preliminary while flags are unknown. */
  readonly words: readonly string[];
  /** Flags that only an extension can know. */
  readonly unknownFlags: readonly string[];
  /** What stands behind `bonsai`. */
  readonly argv: readonly string[];
}

/** The grammar of one command. */
export interface CommandGrammar {
  readonly name: string;
  /** One line for the overview. */
  readonly summary: string;
  /** `<required>` and `[optional]`, with what each is. */
  readonly args: readonly (readonly [syntax: string, description: string])[];
  readonly options?: readonly OptionGrammar[];
  /** Commands that work as they stand, with what they do. */
  readonly examples: readonly (readonly [command: string, effect: string])[];
  load(): Promise<{ run: Command }>;
}

/**
 * One flag; `kind` says how its value is read (default: as text that is not empty); a "list" has the values of all its
 * occurrences.
 */
export interface OptionGrammar {
  readonly flags: string;
  readonly description: string;
  readonly kind?: "tokens" | "count" | "text or nothing" | "list";
  /** The only values that are allowed. */
  readonly choices?: readonly string[];
  /** Flags that cannot stand beside this one. */
  readonly conflicts?: readonly string[];
}
