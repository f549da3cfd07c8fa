import type { ExitCode, Invocation } from "../call/invocation.ts";

/** Runs one call of a command. Returns the exit code; undefined means done. */
type Command = (invocation: Invocation) => Promise<ExitCode | undefined>;

/** The headings of `bonsai --help`. */
export const sections = ["Sessions", "Compaction", "Setup"] as const;
export type Section = (typeof sections)[number];

/** The grammar of one command. */
export interface CommandGrammar {
  /** One word, or two for a command of a group: `session tree`. */
  readonly name: string;
  /** Section of `bonsai --help`; commands of a group and commands for one occasion have none. */
  readonly section?: Section;
  /** One line for lists of commands. */
  readonly summary: string;
  /** `<required>` and `[optional]`, each with a description. */
  readonly args: readonly (readonly [syntax: string, description: string])[];
  readonly options?: readonly OptionGrammar[];
  /** Command lines to copy, each with its effect. The first one is in `bonsai --help`. */
  readonly examples: readonly (readonly [command: string, effect: string])[];
  load(): Promise<Command>;
}

export interface CommandGroup {
  readonly name: string;
  /** Section of `bonsai --help`; commands for one occasion have none. */
  readonly section?: Section;
  readonly summary: string;
  readonly examples: readonly (readonly [command: string, effect: string])[];
}

/**
 * One flag. `kind` says how its value is parsed; the default is a text that is not empty. A "list" collects the values of
 * all occurrences.
 */
export interface OptionGrammar {
  readonly flags: string;
  readonly description: string;
  readonly kind?: "tokens" | "count" | "text or nothing" | "list";
  /** The only allowed values. */
  readonly choices?: readonly string[];
  /** Flags that exclude this one. */
  readonly conflicts?: readonly string[];
  /** The flag works, but no help shows it. */
  readonly hidden?: true;
}
