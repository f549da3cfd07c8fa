import type { Usage, UserContent } from "@bonsai-agent/messages";
import { textHead } from "@bonsai-agent/messages";
import { ownText } from "../import/injected.ts";
import {
  type Fields,
  fieldsAt,
  type JsonLine,
  listAt,
  numberAt,
  stringAt,
  stringsAt,
} from "../import/json-lines.ts";
import { NoticeLog } from "../import/notices.ts";
import { imageOfUrl, text } from "../import/step.ts";
import { codexRecord, isAnswerItem } from "./items.ts";

/** A prompt's words, in one line and line by line, and where it stands. */
interface Prompt {
  at: number;
  words: string;
  lines: string;
}

/**
 * The places of `user_message` events that no user item says too. Both are written for a prompt, in either
 * order and before its answer; some rollouts have the events alone. An item can hold more than the event:
 * what an editor puts around the user's words.
 */
export function promptsInEvents(lines: readonly JsonLine[]): Set<number> {
  const open = new Matching();
  for (const [at, { value }] of lines.entries()) {
    const { type, payload } = codexRecord(value);
    if (type === "event_msg" && payload.type === "user_message")
      open.event(promptOf(at, eventWords(payload)));
    else if (type !== "response_item") continue;
    else if (isAnswerItem(payload)) open.answered();
    else if (payload.type === "message" && payload.role === "user")
      open.item(promptOf(at, itemWords(payload)));
  }
  return open.unmatched();
}

/** What an event says: its text, its images, and marks for those that are files. */
export function eventContent(event: Fields, notices = new NoticeLog()): UserContent[] {
  const said = stringAt(event, "message") || placeholders(event);
  const images = stringsAt(event, "images").map(
    (url) => imageOfUrl(url) ?? text(`[image: ${textHead(url, 500)}]`),
  );
  const files = stringsAt(event, "local_images").map((path) => text(`[image: ${path}]`));
  const content = [...(said.trim() === "" ? [] : [text(said)]), ...images, ...files];
  for (const block of content.slice(said.trim() === "" ? 0 : 1))
    if (block.type === "text") notices.add("image_not_stored");
  return content;
}

/** Spans of the message that the program draws in another way, such as a large paste. */
function placeholders(event: Fields): string {
  return listAt(event, "text_elements")
    .map((element) => stringAt(element, "placeholder") ?? "")
    .join(" ");
}

function promptOf(at: number, lines: string): Prompt {
  return { at, words: lines.replaceAll("\n", " "), lines };
}

class Matching {
  readonly #unmatched: Prompt[] = [];
  readonly #spare: Prompt[] = [];
  #events: Prompt[] = [];
  #items: Prompt[] = [];

  event(prompt: Prompt): void {
    this.#events.push(prompt);
  }

  item(prompt: Prompt): void {
    if (prompt.words !== "") this.#items.push(prompt);
  }

  /** Prompts and their events stand between the same answers. */
  answered(): void {
    if (this.#events.length === 0 && this.#items.length === 0) return;
    const same = withoutPairs(this.#events, this.#items);
    for (const event of same.events) {
      const near = same.items.slice(0, CONTAINMENTS_TRIED);
      const at = near.findIndex((item) => contains(item.lines, event.lines));
      if (at < 0) this.#unmatched.push(event);
      else same.items.splice(at, 1);
    }
    this.#spare.push(...same.items);
    this.#events = [];
    this.#items = [];
  }

  /** What was typed while the model worked becomes an item later, where the model gets it. */
  unmatched(): Set<number> {
    this.answered();
    const { events } = withoutPairs(this.#unmatched, this.#spare, { isLater: true });
    return new Set(events.map(({ at }) => at));
  }
}

const CONTAINMENTS_TRIED = 50;

/** What is left when each event took the first item with its words, a later one where `isLater`. */
function withoutPairs(
  events: readonly Prompt[],
  items: readonly Prompt[],
  { isLater = false } = {},
): { events: Prompt[]; items: Prompt[] } {
  const byWords = Map.groupBy(items, ({ words }) => words);
  const next = new Map<string, number>();
  const taken = new Set<Prompt>();
  const left = events.filter((event) => {
    const { words } = event;
    const same = byWords.get(words) ?? [];
    let at = next.get(words) ?? 0;
    while (isLater && at < same.length && same[at]!.at < event.at) at += 1;
    next.set(words, at + 1);
    const item = same[at];
    if (item !== undefined) taken.add(item);
    return item === undefined;
  });
  return { events: left, items: items.filter((item) => !taken.has(item)) };
}

/** Shorter than this, words also stand in another prompt by chance. */
const TELLING_CHARS = 12;

function contains(whole: string, part: string): boolean {
  const [long, short] = whole.length >= part.length ? [whole, part] : [part, whole];
  if (short === "") return false;
  return (
    long.startsWith(`${short}\n`) ||
    long.endsWith(`\n${short}`) ||
    (short.length >= TELLING_CHARS && long.includes(short))
  );
}

/** Stands for the words of a prompt that is images alone. */
const IMAGES_ALONE = "[image]";

function eventWords(event: Fields): string {
  const words = wordsOf([stringAt(event, "message") || placeholders(event)]);
  const images = [...stringsAt(event, "images"), ...stringsAt(event, "local_images")];
  return words === "" && images.length > 0 ? IMAGES_ALONE : words;
}

function itemWords(item: Fields): string {
  const { content } = item;
  if (typeof content === "string") return wordsOf([content]);
  const parts = listAt(item, "content");
  const words = wordsOf(parts.map((part) => stringAt(part, "text") ?? ""));
  return words === "" && parts.some((part) => part.type === "input_image") ? IMAGES_ALONE : words;
}

/** The user's own words, line by line, without differences of white space. */
function wordsOf(texts: readonly string[]): string {
  const lines = texts
    .map((each) => ownText(each) || each)
    .join("\n")
    .replace(IMAGE_TAGS, "")
    .split("\n");
  return lines
    .map((line) => line.replace(/\s+/g, " ").trim())
    .filter((line) => line !== "")
    .join("\n");
}

/** An image in an item stands between tags that name it. */
const IMAGE_TAGS = /<\/?image\b[^<>]{0,200}>/g;

/** What is new in a `token_count` event. */
export interface TokenCount {
  /** Of the latest request. */
  usage: Usage;
  /** Of requests whose own counts are not in the file. */
  lost: Usage | undefined;
  /** True where the total is smaller than before. */
  isRestart: boolean;
  /** Before 0.104 a request's counts were written before its items, since then after them. */
  isBefore: boolean;
}

/** The first version that writes counts after the items of their request. */
const COUNTS_AFTER = [0, 104] as const;

/**
 * The counts of a rollout by the place of their line. Where they belong is read from the order of the records
 * in each turn, where that leaves it open from the other turns, and only then from the version.
 */
export function tokenCounts(lines: readonly JsonLine[]): Map<number, TokenCount> {
  const totals = new Totals();
  const counts = new Map<number, TokenCount>();
  const turns = [new Turn()];
  let version: string | undefined;
  for (const [at, { value }] of lines.entries()) {
    const { type, payload } = codexRecord(value);
    const turn = turns.at(-1)!;
    if (type === "session_meta") version ??= stringAt(payload, "cli_version");
    if (isPromptRecord(type, payload) && turn.isBegun) turns.push(new Turn());
    else if (type === "response_item" && isAnswerItem(payload)) turn.answered();
    else if (type === "event_msg" && payload.type === "token_count") {
      const count = totals.next(fieldsAt(payload, "info"));
      if (count === undefined) continue;
      counts.set(at, count);
      turn.counted(count);
    }
  }
  const votes = turns.reduce((sum, { vote }) => sum + vote, 0);
  const isUsual = votes === 0 ? isOlder(version) : votes > 0;
  for (const turn of turns)
    for (const count of turn.counts) count.isBefore = turn.vote === 0 ? isUsual : turn.vote > 0;
  return counts;
}

function isPromptRecord(type: string | undefined, payload: Fields): boolean {
  if (type === "event_msg") return payload.type === "user_message";
  return type === "response_item" && payload.type === "message" && payload.role === "user";
}

function isOlder(version: string | undefined): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version ?? "") ?? [];
  if (major === undefined) return false;
  return Number(major) === COUNTS_AFTER[0] && Number(minor) < COUNTS_AFTER[1];
}

/** From one prompt to the next. */
class Turn {
  readonly counts: TokenCount[] = [];
  #isAnsweredFirst = false;
  #isAnsweredLast = false;

  get isBegun(): boolean {
    return this.counts.length > 0 || this.#isAnsweredLast;
  }

  answered(): void {
    if (this.counts.length === 0) this.#isAnsweredFirst = true;
    this.#isAnsweredLast = true;
  }

  counted(count: TokenCount): void {
    this.counts.push(count);
    this.#isAnsweredLast = false;
  }

  /** 1 where counts stand before their items, -1 where they stand behind them, 0 where it cannot be said. */
  get vote(): number {
    if (this.counts.length === 0) return 0;
    return Number(this.#isAnsweredLast) - Number(this.#isAnsweredFirst);
  }
}

interface Counts {
  /** With what was read from a cache. */
  input: number;
  cached: number;
  cacheWrite: number;
  output: number;
  reasoning: number;
  total: number;
}

/** The totals of the session so far: the counts of a request are what they grow by. */
class Totals {
  #before: Counts | undefined;
  #last = "";

  /** Undefined where nothing is new: the same counts come again whenever rate limits change. */
  next(info: Fields | undefined): TokenCount | undefined {
    const total = countsOf(fieldsAt(info, "total_token_usage"));
    const last = countsOf(fieldsAt(info, "last_token_usage"));
    if (total === undefined) return this.#lastAlone(last);
    const before = this.#before ?? NONE;
    this.#before = total;
    const grown = difference(total, before);
    if (grown.total === 0) return undefined;
    if (grown.total < 0) return { ...tokenCount(last ?? total), isRestart: true };
    if (last === undefined || last.total > grown.total) return tokenCount(grown);
    return tokenCount(last, last.total === grown.total ? undefined : difference(grown, last));
  }

  #lastAlone(last: Counts | undefined): TokenCount | undefined {
    const text = JSON.stringify(last);
    if (last === undefined || text === this.#last) return undefined;
    this.#last = text;
    return tokenCount(last);
  }
}

const NONE: Counts = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0, total: 0 };

/** Undefined where nothing was counted. */
function countsOf(fields: Fields | undefined): Counts | undefined {
  const count = (name: string) => Math.max(0, numberAt(fields, name));
  const [input, output] = [count("input_tokens"), count("output_tokens")];
  const total = input + output || count("total_tokens");
  if (total === 0) return undefined;
  return {
    input: input + output === 0 ? total : input,
    cached: count("cached_input_tokens"),
    cacheWrite: count("cache_write_input_tokens"),
    output,
    reasoning: count("reasoning_output_tokens"),
    total,
  };
}

/** The total's difference is exact: what a part lacks is input. */
function difference(a: Counts, b: Counts): Counts {
  const total = a.total - b.total;
  const output = clamped(a.output - b.output, total);
  const input = total - output;
  const cached = clamped(a.cached - b.cached, input);
  return {
    total,
    input,
    output,
    cached,
    cacheWrite: clamped(a.cacheWrite - b.cacheWrite, input - cached),
    reasoning: clamped(a.reasoning - b.reasoning, output),
  };
}

function clamped(value: number, most: number): number {
  return Math.max(0, Math.min(value, most));
}

function tokenCount(counts: Counts, lost?: Counts): TokenCount {
  return {
    usage: usageOf(counts),
    lost: lost === undefined ? undefined : usageOf(lost),
    isRestart: false,
    isBefore: false,
  };
}

function usageOf({ input, cached, cacheWrite, output, reasoning, total }: Counts): Usage {
  const cacheRead = clamped(cached, input);
  const written = clamped(cacheWrite, input - cacheRead);
  return {
    input: input - cacheRead - written,
    output,
    cacheRead,
    cacheWrite: written,
    ...(reasoning > 0 ? { reasoning } : {}),
    totalTokens: total,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
}
