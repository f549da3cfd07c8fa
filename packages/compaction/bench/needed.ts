import { type Message, messageText, toolCalls } from "@bonsai-agent/messages";

/**
 * Which specific terms of a recorded future stood in the past: whoever goes on from a compaction had better see them.
 * Written apart from the package's own search for terms: what measures shares no code with what is measured.
 */
export function neededTerms(past: string, future: readonly Message[]): string[] {
  const used = future.flatMap((message) => [...userTexts(message), ...argumentTexts(message)]);
  return [...new Set(used.flatMap(specificTerms))].filter((term) => past.includes(term));
}

const LEAST_CHARS = 4;
const COMMON = new Set(["e.g", "i.e", "node_modules", "package.json", "console.log", "README.md"]);

/** Paths, dotted names, identifiers of several words, colours and hashes, numbers. Linear. */
function specificTerms(text: string): string[] {
  const runs = text.match(/[\w@~$#./-]+/g) ?? [];
  const terms = runs.flatMap((run) => [...pathTerms(run), ...wordTerms(run)]);
  return terms.filter((term) => term.length >= LEAST_CHARS && !COMMON.has(term));
}

function pathTerms(run: string): string[] {
  const parts = run.split(/[./]{2,}/).map((part) => trimmed(part, "./~-"));
  return parts.filter((part) => /[._/]/.test(part));
}

function wordTerms(run: string): string[] {
  return (run.match(/\w+/g) ?? []).filter(
    (word) =>
      /^[a-z]+[A-Z]/.test(word) ||
      /^[A-Z][a-z0-9]+[A-Z]/.test(word) ||
      /^[A-Za-z]+_\w/.test(word) ||
      /^[0-9a-fA-F]{6,}$/.test(word) ||
      /^\d{3,}$/.test(word),
  );
}

function trimmed(text: string, marks: string): string {
  let [from, to] = [0, text.length];
  while (from < to && marks.includes(text[from]!)) from++;
  while (to > from && marks.includes(text[to - 1]!)) to--;
  return text.slice(from, to);
}

const SENTENCE_CHARS = 300;
const ARGUMENT_CHARS = 400;
const ARGUMENTS = ["path", "file", "pattern", "command", "query", "url"];

/** The user's own words: without fenced blocks, each sentence cut. */
function userTexts(message: Message): string[] {
  if (message.role !== "user") return [];
  const outside = messageText(message)
    .split("```")
    .filter((_, at) => at % 2 === 0);
  return outside
    .flatMap((text) => text.split(/[.!?]\s|[。！？\n]/))
    .map((text) => text.slice(0, SENTENCE_CHARS));
}

function argumentTexts(message: Message): string[] {
  const given = toolCalls(message).flatMap((call) => ARGUMENTS.map((name) => call.arguments[name]));
  return given.filter((value) => typeof value === "string").map((text) => text.slice(0, ARGUMENT_CHARS));
}
