import type { ExtensionUI } from "@bonsai-agent/extension";
import type { McpServer } from "./server.ts";
import type { McpServers } from "./servers.ts";

/** A resource that a text names as `@server:uri`. */
export interface Mention {
  server: McpServer;
  uri: string;
}

/** At the beginning of a word only: an `@` inside one belongs to an address. */
const mention = /(?<=^|[\s([{<"'`])@(?:"([^"]+)"|([^\s"'`<>()[\]{}]+))/g;
const punctuation = /[.,;:!?]+$/;

/** The resources that a text names, each once. A name without a server, such as a file or a handle, is skipped. */
export function mentionsIn(text: string, servers: McpServers): Mention[] {
  const found = new Map<string, Mention>();
  for (const [, quoted, bare = ""] of text.matchAll(mention)) {
    const given = quoted ?? bare;
    const at = given.indexOf(":");
    const server = at > 0 ? servers.get(given.slice(0, at)) : undefined;
    if (server === undefined) continue;
    const uri = quoted === undefined ? withoutPunctuation(given.slice(at + 1), server) : given.slice(at + 1);
    if (uri !== "") found.set(`${server.name}:${uri}`, { server, uri });
  }
  return [...found.values()];
}

/** Punctuation after a name belongs to the sentence, unless a resource has it. */
function withoutPunctuation(uri: string, { lists }: McpServer): string {
  return lists.resources.some((resource) => resource.uri === uri) ? uri : uri.replace(punctuation, "");
}

function mentionOf(server: string, uri: string): string {
  const whole = `${server}:${uri}`;
  return /[\s"'`<>()[\]{}]/.test(whole) ? `@"${whole}"` : `@${whole}`;
}

type Provider = Parameters<Parameters<ExtensionUI["addAutocompleteProvider"]>[0]>[0];
type Item = NonNullable<Awaited<ReturnType<Provider["getSuggestions"]>>>["items"][number];

/** A complete or incomplete mention at the cursor; `@"` starts one with blanks in it. */
const mentionAtCursor = /(?:^|[\s([{<'`])(@(?:"([^"]*)|([^\s"'`<>()[\]{}]*)))$/;

const MAX_ITEMS = 50;
/** Items after the files. */
const MAX_AFTER_FILES = 5;

/** Completes `@server:uri` after the files that the program completes. */
export function withMentions(current: Provider, servers: McpServers): Provider {
  return {
    ...(current.triggerCharacters && { triggerCharacters: current.triggerCharacters }),
    async getSuggestions(lines, line, column, options) {
      const typed = mentionAtCursor.exec((lines[line] ?? "").slice(0, column));
      if (typed === null) return current.getSuggestions(lines, line, column, options);
      const [, prefix = "", quoted, bare = ""] = typed;
      const query = quoted ?? bare;
      const server = servers.get(query.split(":", 1)[0]!);
      if (server !== undefined && query.includes(":")) {
        const items = resourceItems(server, query.slice(server.name.length + 1));
        return items.length === 0 ? null : { items, prefix };
      }
      const files = await current.getSuggestions(lines, line, column, options);
      const others = itemsAfterFiles(servers, query);
      return others.length === 0 ? files : { items: [...(files?.items ?? []), ...others], prefix };
    },
    applyCompletion(lines, line, column, item, prefix) {
      const server = servers.get(/^@"?([\w-]+):/.exec(item.value)?.[1] ?? "");
      if (!prefix.startsWith("@") || server === undefined)
        return current.applyCompletion(lines, line, column, item, prefix);
      const text = lines[line] ?? "";
      const rest = text.slice(column);
      // The user continues an incomplete mention, so it gets no blank.
      const isWhole = server.lists.resources.some(({ uri }) => mentionOf(server.name, uri) === item.value);
      const blank = isWhole && !rest.startsWith(" ") ? " " : "";
      const start = text.slice(0, column - prefix.length) + item.value + blank;
      return { lines: lines.with(line, start + rest), cursorLine: line, cursorCol: start.length };
    },
    shouldTriggerFileCompletion: (...call) => current.shouldTriggerFileCompletion?.(...call) ?? true,
  };
}

/** Resources and beginnings of templates of one server. */
function resourceItems({ name: server, lists }: McpServer, query: string): Item[] {
  const resources = lists.resources
    .filter(({ uri, name }) => isIn(query, uri) || isIn(query, name))
    .map(({ uri, name, description = "" }) => ({
      value: mentionOf(server, uri),
      label: name,
      description: name === uri ? description : uri,
    }));
  const templates = lists.templates.flatMap(({ uriTemplate, name }) => {
    const start = uriTemplate.split("{", 1)[0]!;
    const isWanted = query.length < start.length && (isIn(query, uriTemplate) || isIn(query, name));
    const value = mentionOf(server, start).replace(/"$/, "");
    return isWanted ? [{ value, label: name, description: uriTemplate }] : [];
  });
  return [...resources, ...templates].slice(0, MAX_ITEMS);
}

/** Servers and resources that match by name. */
function itemsAfterFiles(servers: McpServers, query: string): Item[] {
  const ready = servers.all.filter(
    ({ state, lists }) => state === "ready" && lists.resources.length + lists.templates.length > 0,
  );
  const names = ready
    .filter(({ name }) => name.toLowerCase().startsWith(query.toLowerCase()))
    .map(({ name, lists }) => {
      const count = lists.resources.length + lists.templates.length;
      const description = `MCP server, ${count} ${count === 1 ? "resource" : "resources"}`;
      return { value: `@${name}:`, label: `${name}:`, description };
    });
  const resources = query.length < 2 ? [] : ready.flatMap((server) => resourceItems(server, query));
  return [...names, ...resources].slice(0, MAX_AFTER_FILES);
}

function isIn(query: string, text: string): boolean {
  return text.toLowerCase().includes(query.toLowerCase());
}
