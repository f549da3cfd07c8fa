import type { ExitCode } from "../exit-code.ts";
import type { Invocation } from "../invocation.ts";

/** What a module in `commands/` exports as `run`. Returns the exit code; nothing means done. */
export type Command = (invocation: Invocation) => Promise<ExitCode | undefined>;

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

/** The flags of every command that runs extensions. */
export const extensionFlags: readonly OptionGrammar[] = [
  { flags: "-e, --extension <path>", description: "load an extension; may be repeated", kind: "list" },
  { flags: "--no-extensions", description: "load no extensions but those of -e" },
];
