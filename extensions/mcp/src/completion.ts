import type { ExtensionUI } from "@bonsai-agent/extension";
import { plainLine } from "./foreign-text.ts";
import { mentionOf } from "./mentions.ts";
import type { McpServer } from "./server.ts";
import type { McpServers } from "./servers.ts";

type Provider = Parameters<Parameters<ExtensionUI["addAutocompleteProvider"]>[0]>[0];
type Suggestions = NonNullable<Awaited<ReturnType<Provider["getSuggestions"]>>>;
type Item = Suggestions["items"][number];

/** A complete or incomplete mention at the cursor; `@"` starts one with blanks in it. */
const mention = /(?:^|[\s([{<'`])(@(?:"([^"]*)|([^\s"'`<>()[\]{}]*)))$/;

/** Time for a server to answer while the user types. */
const completionMs = 3_000;
const MAX_ITEMS = 50;
/** Items after the files. */
const MAX_BESIDE_FILES = 5;

/** Values for an argument of a prompt; none if the server has none in time. */
export async function serverCompletions(
  server: McpServer,
  params: Parameters<NonNullable<McpServer["client"]>["complete"]>[0],
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const { client, state } = server;
  if (client === undefined || state !== "ready" || client.getServerCapabilities()?.completions === undefined)
    return [];
  try {
    const { completion } = await client.complete(params, {
      timeout: completionMs,
      ...(signal && { signal }),
    });
    return completion.values.filter((value) => value === plainLine(value, 1_000)).slice(0, MAX_ITEMS);
  } catch {
    // Completion is a convenience, so a failure is no notice.
    return [];
  }
}

/** Completes `@server:uri` after the files that the program completes. */
export function resourceCompletion(current: Provider, servers: McpServers): Provider {
  /** Offered values that are incomplete. */
  const begun = new Set<string>();
  return {
    ...(current.triggerCharacters && { triggerCharacters: current.triggerCharacters }),
    async getSuggestions(lines, line, column, options) {
      const typed = mention.exec((lines[line] ?? "").slice(0, column));
      if (typed === null) return current.getSuggestions(lines, line, column, options);
      const [, prefix = "", quoted, bare = ""] = typed;
      const query = quoted ?? bare;
      const server = servers.get(query.split(":", 1)[0]!);
      if (server !== undefined && query.includes(":")) {
        const items = ofServer(server, query.slice(server.name.length + 1), begun);
        return items.length === 0 ? null : { items, prefix };
      }
      const files = await current.getSuggestions(lines, line, column, options);
      const others = besideFiles(servers, query, begun);
      if (others.length === 0) return files;
      return { items: [...(files?.items ?? []), ...others], prefix };
    },
    applyCompletion(lines, line, column, item, prefix) {
      const text = lines[line] ?? "";
      if (!prefix.startsWith("@") || servers.get(/^@"?([\w-]+):/.exec(item.value)?.[1] ?? "") === undefined)
        return current.applyCompletion(lines, line, column, item, prefix);
      const rest = text.slice(column);
      // The user continues an incomplete mention, so it gets no blank.
      const isBegun = begun.has(item.value);
      const value = isBegun ? item.value : rest.startsWith(" ") ? item.value : `${item.value} `;
      const start = text.slice(0, column - prefix.length) + value;
      return {
        lines: lines.map((each, at) => (at === line ? start + rest : each)),
        cursorLine: line,
        cursorCol: start.length,
      };
    },
    shouldTriggerFileCompletion: (...call) => current.shouldTriggerFileCompletion?.(...call) ?? true,
  };
}

/** Resources, and the beginnings of templates: the user types their variables. */
function ofServer(server: McpServer, query: string, begun: Set<string>): Item[] {
  const resources = server.resources
    .filter(({ uri, name }) => isIn(query, uri) || isIn(query, name))
    .map(({ uri, name, description }) =>
      itemOf(mentionOf(server.name, uri), name, name === uri ? description : uri),
    );
  const templates = server.resourceTemplates.flatMap(({ uriTemplate, name }) => {
    const start = uriTemplate.split("{", 1)[0]!;
    const isWanted = query.length < start.length && (isIn(query, uriTemplate) || isIn(query, name));
    return isWanted ? [itemOf(mentionOf(server.name, start).replace(/"$/, ""), name, uriTemplate)] : [];
  });
  begun.clear();
  for (const { value } of templates) begun.add(value);
  return [...resources, ...templates].slice(0, MAX_ITEMS);
}

/** Servers and resources that match by name. */
function besideFiles(servers: McpServers, query: string, begun: Set<string>): Item[] {
  const ready = servers.all.filter(
    ({ state, resources, resourceTemplates }) =>
      state === "ready" && resources.length + resourceTemplates.length > 0,
  );
  begun.clear();
  const names = ready
    .filter(({ name }) => name.toLowerCase().startsWith(query.toLowerCase()))
    .map(({ name, resources, resourceTemplates }) => {
      const value = `@${name}:`;
      begun.add(value);
      const count = resources.length + resourceTemplates.length;
      return itemOf(value, `${name}:`, `MCP server, ${count} ${count === 1 ? "resource" : "resources"}`);
    });
  const resources =
    query.length < 2
      ? []
      : ready.flatMap(({ name: server, resources: all }) =>
          all
            .filter(({ uri, name }) => isIn(query, name) || isIn(query, uri))
            .map(({ uri, name }) => itemOf(mentionOf(server, uri), name, `${server}:${uri}`)),
        );
  return [...names, ...resources].slice(0, MAX_BESIDE_FILES);
}

function isIn(query: string, text: string): boolean {
  return text.toLowerCase().includes(query.toLowerCase());
}

function itemOf(value: string, label: string, description: string | undefined): Item {
  return { value, label, ...(description && { description }) };
}
