import type { InteractiveWork } from "../interactive-work.ts";
import type { AutocompleteItem } from "../terminal/tui.ts";

/** A command that the user types, `/name arguments`. */
export interface SlashCommand {
  readonly name: string;
  /** One line for /help and the completion. */
  readonly description: string;
  /** What may stand behind the name, like `[focus]`. */
  readonly argumentHint?: string;
  /** True where it can run while the agent works. Default false: the user is told to wait or press Esc. */
  readonly worksWhileBusy?: boolean;
  complete?(prefix: string, work: InteractiveWork): AutocompleteItem[] | Promise<AutocompleteItem[]>;
  /** A throw is told, and nothing else happens. */
  run(args: string, work: InteractiveWork): void | Promise<void>;
}
