import { callsIn, type Message, messageText } from "@bonsai-agent/messages";

/**
 * Specific terms of the past that the recorded future uses: a compaction should keep them in view. Shares no code with
 * compaction's own terms, which this measures.
 */
export function neededTerms(past: string, future: readonly Message[]): string[] {
  const known = specificTerms(past);
  const used = future.flatMap(requestTexts);
  return [...specificTerms(used.join("\n"))].filter((term) => known.has(term));
}

/** The user's sentences without code blocks, and the arguments of calls. */
export function requestTexts(message: Message): string[] {
  const isOutside = (_: string, at: number) => at % 2 === 0;
  const said = message.role === "user" ? messageText(message).split("```").filter(isOutside) : [];
  const sentences = said.flatMap((text) => text.split(/[.!?]\s|[。！？\n]/));
  const given = callsIn(message).flatMap((call) => ARGUMENTS.map((name) => call.arguments[name]));
  return [
    ...sentences.map((text) => text.slice(0, SENTENCE_CHARS)),
    ...given.filter((value) => typeof value === "string").map((text) => text.slice(0, ARGUMENT_CHARS)),
  ];
}

const MIN_TERM_CHARS = 4;
const COMMON = new Set(["e.g", "i.e", "node_modules", "package.json", "console.log", "README.md"]);

/** Paths and dotted names, identifiers of several words, colours and hashes, numbers. Lookbehinds keep the time linear. */
const SHAPES = [
  /(?<![\w@~$#-])[\w@~$#-]*(?:[._/][\w@$#-]+)+/g,
  /(?<![a-z])[a-z]+[A-Z][A-Za-z0-9]*/g,
  /[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]*/g,
  /(?<![A-Za-z])[A-Za-z]+_\w+/g,
  /#?[0-9a-fA-F]{6,}/g,
  /\b\d{3,}\b/g,
];

export function specificTerms(text: string): Set<string> {
  const found = SHAPES.flatMap((shape) => text.match(shape) ?? []).map(trimmed);
  return new Set(found.filter((term) => term.length >= MIN_TERM_CHARS && !COMMON.has(term)));
}

function trimmed(term: string): string {
  let [from, to] = [0, term.length];
  while (from < to && "./~-".includes(term[from]!)) from++;
  while (to > from && "./:-".includes(term[to - 1]!)) to--;
  return term.slice(from, to);
}

const SENTENCE_CHARS = 300;
const ARGUMENT_CHARS = 400;
const ARGUMENTS = ["path", "file", "pattern", "command", "query", "url"];

/** The text of messages that a model sees. */
export function visibleTexts(messages: readonly Message[]): string {
  return messages.map(visibleText).join("\n");
}

/** The text of a message that a model sees. */
export function visibleText(message: Message): string {
  if (message.role !== "assistant") return messageText(message);
  const parts = callsIn(message).map((call) => `${call.name} ${JSON.stringify(call.arguments)}`);
  return [messageText(message), ...parts].join("\n");
}
