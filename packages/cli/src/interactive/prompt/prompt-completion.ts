import type { InteractiveWork } from "../interactive-work.ts";
import type { SlashCommand } from "../slash/slash-command.ts";
import {
  type AutocompleteItem,
  type AutocompleteProvider,
  type AutocompleteSuggestions,
  CombinedAutocompleteProvider,
  fuzzyFilter,
} from "../terminal/tui.ts";
import { matchManyFiles } from "./match-files.ts";
import { ProjectFiles } from "./project-files.ts";

export interface PromptCompletionOptions {
  work: InteractiveWork;
  commands: readonly SlashCommand[];
}

type Position = Parameters<AutocompleteProvider["getSuggestions"]>;

/** A mention at the cursor, whole or begun; `@"` begins one with blanks in it. */
const mention = /(?:^|[\s([{<'`])(@(?:"([^"]*)|([^\s"'`<>()[\]{}]*)))$/;

/** Completes commands and their arguments, files behind `@`, and paths by the key for it. */
export class PromptCompletion implements AutocompleteProvider {
  readonly #options: PromptCompletionOptions;
  readonly #paths: CombinedAutocompleteProvider;
  readonly #files: ProjectFiles;

  constructor(options: PromptCompletionOptions) {
    this.#options = options;
    const { cwd } = options.work.host.workshop;
    this.#paths = new CombinedAutocompleteProvider([], cwd);
    this.#files = new ProjectFiles(cwd);
  }

  async getSuggestions(...[lines, line, column, options]: Position): Promise<AutocompleteSuggestions | null> {
    const before = (lines[line] ?? "").slice(0, column);
    const mentioned = mention.exec(before);
    if (mentioned !== null) {
      const [, prefix = "", quoted, bare = ""] = mentioned;
      return this.#mentions(prefix, quoted ?? bare, options.signal);
    }
    const command = line === 0 ? /^\/(\S*)(?:\s+(.*))?$/.exec(before) : null;
    if (command !== null && !(options.force === true && command[1]!.includes("/"))) {
      const [, name = "", args] = command;
      return args === undefined ? this.#names(name, before) : this.#arguments(name, args);
    }
    return options.force === true ? this.#paths.getSuggestions(lines, line, column, options) : null;
  }

  applyCompletion(...call: Parameters<AutocompleteProvider["applyCompletion"]>) {
    return this.#paths.applyCompletion(...call);
  }

  async #mentions(
    prefix: string,
    query: string,
    signal: AbortSignal,
  ): Promise<AutocompleteSuggestions | null> {
    const outside = /^(~|\.{0,2})\//.test(query);
    if (outside) return this.#paths.getSuggestions([prefix], 0, prefix.length, { signal, force: true });
    const files = await this.#files.list(signal);
    const matching = await matchManyFiles(files, { query, signal });
    const items = matching.map(({ path }) => ({
      value: /[\s"'`<>()[\]{}]/.test(path) ? `@"${path}"` : `@${path}`,
      label: path,
    }));
    return suggestions(items, prefix);
  }

  #names(name: string, prefix: string): AutocompleteSuggestions | null {
    const { commands, work } = this.#options;
    const own = commands.map(({ name, description, argumentHint }) => ({
      value: name,
      label: argumentHint === undefined ? name : `${name} ${argumentHint}`,
      description,
    }));
    const others = work.host.workshop.extensions.commands.map(({ name, description }) => ({
      value: name,
      label: name,
      ...(description === undefined ? {} : { description }),
    }));
    return suggestions(
      fuzzyFilter([...own, ...others], name, ({ value }) => value),
      prefix,
    );
  }

  async #arguments(name: string, args: string): Promise<AutocompleteSuggestions | null> {
    const { commands, work } = this.#options;
    const command = commands.find((each) => each.name === name);
    if (command !== undefined) return suggestions(await this.#completed(command, args), args);
    const items = await work.host.workshop.extensions.completeCommand(name, args);
    return suggestions(
      items.map(({ value, label, description }) => ({
        value,
        label,
        ...(description === undefined ? {} : { description }),
      })),
      args,
    );
  }

  async #completed(command: SlashCommand, args: string): Promise<AutocompleteItem[]> {
    const { work } = this.#options;
    try {
      return (await command.complete?.(args, work)) ?? [];
    } catch (error) {
      work.tell({
        level: "warning",
        message: `/${command.name} cannot be completed: ${(error as Error).message}`,
      });
      return [];
    }
  }
}

function suggestions(items: AutocompleteItem[], prefix: string): AutocompleteSuggestions | null {
  return items.length === 0 ? null : { items, prefix };
}
