import { textHead } from "@bonsai-agent/extension";
import type { OfferedTool } from "./offered-tool.ts";

/** Characters of what a search gives, schemas included. */
const MAX_CHARS = 40_000;

/** The tools that fit a query best, each with its schema, as text for the model. */
export function searched(tools: readonly OfferedTool[], query: string, limit: number): string {
  const found = ranked(tools, query).slice(0, limit);
  if (found.length === 0) return `No match. Available tools:\n${names(tools)}`;
  let left = MAX_CHARS;
  const shown: string[] = [];
  for (const tool of found) {
    const text = described(tool);
    if (text.length > left) continue;
    left -= text.length;
    shown.push(text);
  }
  const more = found.length - shown.length;
  return [
    ...shown,
    ...(more > 0
      ? [
          `Omitted ${more} more tools: the answer would be too long. To see one of them, search for its keywords with limit 1.`,
        ]
      : []),
  ].join("\n\n");
}

function described({ name, listed }: OfferedTool): string {
  return `${name}\n${listed.description}\nparameters: ${JSON.stringify(listed.inputSchema)}`;
}

function names(tools: readonly OfferedTool[]): string {
  return textHead(tools.map(({ name }) => name).join("\n"), MAX_CHARS);
}

/** By how many of the query's words stand in name and description; rare words weigh more, names more than descriptions. */
function ranked(tools: readonly OfferedTool[], query: string): OfferedTool[] {
  const wanted = new Set(words(query));
  const texts = tools.map(({ name, listed }) => ({
    name: new Set(words(`${name} ${listed.name}`)),
    text: new Set(words(`${listed.title ?? ""} ${listed.description}`)),
  }));
  const weights = [...wanted].map((word) => {
    const having = texts.filter(({ name, text }) => isIn(word, name) || isIn(word, text)).length;
    return { word, weight: Math.log(1 + tools.length / (1 + having)) };
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

/** Also where one is the beginning of the other: `file` and `files`. */
function isIn(word: string, all: ReadonlySet<string>): boolean {
  if (all.has(word)) return true;
  if (word.length < 3) return false;
  return [...all].some((each) => each.length >= 3 && (each.startsWith(word) || word.startsWith(each)));
}
