import { raceAbort } from "@bonsai-agent/messages/host";
import { describedCommand } from "../../call/resources.ts";
import { oneLine, printable } from "../../views/terminal-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { matchFiles, ProjectFiles } from "../prompt/project-files.ts";
import {
  type AutocompleteItem,
  type AutocompleteProvider,
  type AutocompleteSuggestions,
  CombinedAutocompleteProvider,
  fuzzyFilter,
} from "../terminal/tui.ts";
import { typableText } from "../terminal/typed-input.ts";
import { slashCommands } from "./slash-commands.ts";

type Position = Parameters<AutocompleteProvider["getSuggestions"]>;

/** A mention at the cursor; `@"` starts one with blanks. */
const mention = /(?:^|[\s([{<"'`])(@(?:"([^"]*)|((?!")\S*)))$/;

/**
 * Completes commands and their arguments, files behind `@`, and paths by the key for it. What only the session knows,
 * commands of extensions and arguments, joins with it.
 */
export class PromptCompletion implements AutocompleteProvider {
  readonly #context: InteractiveContext;
  readonly #paths: CombinedAutocompleteProvider;
  readonly #files: ProjectFiles;
  readonly #opened = Promise.withResolvers<void>();

  constructor(context: InteractiveContext) {
    const { cwd } = context.call.io;
    this.#context = context;
    this.#paths = new CombinedAutocompleteProvider([], cwd);
    this.#files = new ProjectFiles(cwd);
  }

  /** To be called when the session is open. */
  begin(): void {
    this.#opened.resolve();
  }

  async getSuggestions(...position: Position): Promise<AutocompleteSuggestions | null> {
    return safeSuggestions(await this.#find(...position));
  }

  async #find(...[lines, line, column, options]: Position): Promise<AutocompleteSuggestions | null> {
    const text = lines[line] ?? "";
    const before = text.slice(0, column);
    const behind = text.slice(column);
    const mentioned = mention.exec(before);
    if (mentioned !== null) {
      const [, prefix = "", quoted, bare = ""] = mentioned;
      const query = quoted ?? bare;
      return /^(~|\.{0,2})\//.test(query)
        ? this.#mentionsOutside(prefix, query, options.signal)
        : this.#mentions(prefix, query, options.signal);
    }
    const command = line === 0 ? /^\/(\S*)(?:\s+(.*))?$/s.exec(before) : null;
    if (command !== null && !(options.force === true && command[1]!.includes("/"))) {
      const [, name = "", args] = command;
      // Before a word, the name would swallow it.
      if (args === undefined) return /^\S/.test(behind) ? null : this.#names(name, before);
      const known = await this.#arguments(name, args, options.signal);
      if (known !== null || options.force !== true) return known;
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
    const known = await matchFiles(await this.#files.list(signal), { query, signal });
    // The file may not be listed yet.
    const matching =
      known.length > 0 ? known : await matchFiles(await this.#files.whole(signal), { query, signal });
    return suggestions(
      matching.map(({ path }) => mentionOf(path, path)),
      prefix,
    );
  }

  /** Completes paths outside the project folder by folder. */
  async #mentionsOutside(
    prefix: string,
    query: string,
    signal: AbortSignal,
  ): Promise<AutocompleteSuggestions | null> {
    const found = await this.#pathsFrom(query, signal);
    return suggestions(
      found.map(({ value, label }) => mentionOf(value, label)),
      prefix,
    );
  }

  /** Completions of a path, without quotes. */
  async #pathsFrom(begun: string, signal: AbortSignal): Promise<AutocompleteItem[]> {
    const quoted = `"${begun}`;
    const found = await this.#paths.getSuggestions([quoted], 0, quoted.length, { signal, force: true });
    return (found?.items ?? []).map(({ value, ...item }) => ({
      ...item,
      value: value.replace(/^"|"$/g, ""),
    }));
  }

  async #names(name: string, prefix: string): Promise<AutocompleteSuggestions | null> {
    const own = slashCommands.map(({ name, description, argumentHint }) => ({
      value: name,
      label: argumentHint === undefined ? name : `${name} ${argumentHint}`,
      description,
    }));
    const { extensions, resources } = this.#context.isOpen ? this.#context.host.app : {};
    const others = (extensions?.now.commands ?? []).map(({ name, description }) =>
      itemOf({ value: name, label: name, description }),
    );
    const ofFiles = ((await resources?.commands()) ?? []).map(({ name, argumentHint, ...more }) => ({
      value: name,
      label: argumentHint === undefined ? name : `${name} ${argumentHint}`,
      description: describedCommand(more),
    }));
    return suggestions(
      fuzzyFilter([...own, ...others, ...ofFiles], name, ({ value }) => value),
      prefix,
    );
  }

  async #arguments(name: string, args: string, signal: AbortSignal): Promise<AutocompleteSuggestions | null> {
    const command = slashCommands.find((each) => each.name === name);
    if (command !== undefined && command.complete === undefined) return null;
    if (!this.#context.isOpen) await raceAbort(this.#opened.promise, signal, () => {});
    if (!this.#context.isOpen) return null;
    if (command !== undefined) return suggestions(await this.#completed(command, args), args);
    const items = await this.#context.host.app.extensions.now.completeCommand(name, args);
    return suggestions(items.map(itemOf), args);
  }

  async #completed(command: SlashCommand, args: string): Promise<AutocompleteItem[]> {
    try {
      return (await command.complete?.(args, this.#context)) ?? [];
    } catch (error) {
      this.#context.notify(`Cannot complete /${command.name}: ${(error as Error).message}`, "warning");
      return [];
    }
  }
}

/** Removes values that the editor cannot contain and makes labels printable. */
export function safeSuggestions(found: AutocompleteSuggestions | null): AutocompleteSuggestions | null {
  return found && suggestions(found.items.filter(isTypable).map(printableItem), found.prefix);
}

/** A file name can contain anything. */
function isTypable({ value }: AutocompleteItem): boolean {
  return typableText(value) === value;
}

function printableItem({ value, label, description }: AutocompleteItem): AutocompleteItem {
  return itemOf({ value, label: printable(label), description: description && oneLine(description) });
}

/** The library distinguishes an undefined description from a missing one. */
function itemOf({
  description,
  ...item
}: Omit<AutocompleteItem, "description"> & { description?: string | undefined }): AutocompleteItem {
  return { ...item, ...(description !== undefined && { description }) };
}

function mentionOf(path: string, label: string): AutocompleteItem {
  return { value: /\s/.test(path) ? `@"${path}"` : `@${path}`, label };
}

function suggestions(items: AutocompleteItem[], prefix: string): AutocompleteSuggestions | null {
  return items.length === 0 ? null : { items, prefix };
}
