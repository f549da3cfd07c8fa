import { createHash } from "node:crypto";
import { textHead } from "@bonsai-agent/extension";
import type { ListedTool } from "./listing.ts";
import type { McpServer } from "./server.ts";

/** A tool of a server for the model. */
export interface OfferedTool {
  /** `mcp__server__tool`. */
  name: string;
  server: McpServer;
  listed: ListedTool;
}

/** Maximum length of a tool's name for providers. */
const MAX_NAME_CHARS = 64;

/**
 * A name for each tool: `mcp__server__tool`, of letters, digits, `_` and `-`. Equal and long names end with a hash of
 * server and tool, so that their order does not matter.
 */
export function toolNames(all: readonly { server: string; tool: string }[]): string[] {
  const legal = (name: string) => name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const plain = all.map(({ server, tool }) => `mcp__${legal(server)}__${legal(tool)}`);
  const equal = Map.groupBy(plain, (name) => name);
  return plain.map((name, at) => {
    if (name.length <= MAX_NAME_CHARS && equal.get(name)!.length === 1) return name;
    const { server, tool } = all[at]!;
    const hash = createHash("sha256")
      .update(JSON.stringify([server, tool]))
      .digest("hex")
      .slice(0, 6);
    return `${name.slice(0, MAX_NAME_CHARS - 7)}_${hash}`;
  });
}

/** Characters of one search result, schemas included. */
const MAX_CHARS = 40_000;

/** The best matches of a query, each with its schema, as text for the model. */
export function searchTools(tools: readonly OfferedTool[], query: string, limit: number): string {
  const found = rank(tools, query).slice(0, limit);
  if (found.length === 0) {
    const names = tools.map(({ name }) => name).join("\n");
    return `No match. Available tools:\n${textHead(names, MAX_CHARS)}`;
  }
  let left = MAX_CHARS;
  const shown: string[] = [];
  for (const { name, listed } of found) {
    const text = `${name}\n${listed.description}\nparameters: ${JSON.stringify(listed.inputSchema)}`;
    if (text.length > left) continue;
    left -= text.length;
    shown.push(text);
  }
  const omitted = found.length - shown.length;
  if (omitted > 0)
    shown.push(
      `Omitted ${omitted} more tools: the answer would be too long. To see one of them, search for its keywords with limit 1.`,
    );
  return shown.join("\n\n");
}

/** Counts the query's words in name and description. Rare words weigh more, names more than descriptions. */
function rank(tools: readonly OfferedTool[], query: string): OfferedTool[] {
  const texts = tools.map(({ name, listed }) => ({
    name: new Set(words(`${name} ${listed.name}`)),
    text: new Set(words(`${listed.title ?? ""} ${listed.description}`)),
  }));
  const weights = [...new Set(words(query))].map((word) => {
    const matches = texts.filter(({ name, text }) => isIn(word, name) || isIn(word, text)).length;
    return { word, weight: Math.log(1 + tools.length / (1 + matches)) };
  });
  const scores = texts.map(({ name, text }) =>
    weights.reduce(
      (sum, { word, weight }) => sum + weight * ((isIn(word, name) ? 3 : 0) + (isIn(word, text) ? 1 : 0)),
      0,
    ),
  );
  return tools
    .map((tool, at) => ({ tool, score: scores[at]! }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .map(({ tool }) => tool);
}

function words(text: string): string[] {
  const parted = text.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  return parted.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** True also if one word begins with the other: `file` and `files`. */
function isIn(word: string, all: ReadonlySet<string>): boolean {
  if (all.has(word)) return true;
  if (word.length < 3) return false;
  return [...all].some((each) => each.length >= 3 && (each.startsWith(word) || word.startsWith(each)));
}
