import { textHead, type Usage, type UserContent } from "@bonsai-agent/messages";
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
import { imageOfUrl, requestUsage, text } from "../import/step.ts";
import { codexRecord, isAnswerItem } from "./items.ts";

/** A prompt's words, and the place of its line. */
interface Prompt {
  at: number;
  words: string;
  /** False for a text that a program inserted. */
  isOwn: boolean;
}

/** Maximum items that an event is compared with. */
const MAX_COMPARED = 50;
/** Minimum length of words that are not in another prompt by chance. */
const MIN_TELLING_CHARS = 12;

/**
 * The places of `user_message` events without a user item. Rollouts write both for a prompt, in either order and before
 * its answer; some have events only. An item can have more words than its event, for example of an editor.
 */
export function promptsInEvents(lines: readonly JsonLine[]): Set<number> {
  /** Events without an item, by their words. */
  const alone = new Map<string, Prompt[]>();
  let events: Prompt[] = [];
  let items: Prompt[] = [];
  const endTurn = () => {
    const spare = withoutSame(items, events);
    for (const event of withoutSame(events, items)) {
      const at = spare.slice(0, MAX_COMPARED).findIndex((item) => item.isOwn && contains(item, event));
      if (at >= 0) spare.splice(at, 1);
      else alone.set(event.words, [...(alone.get(event.words) ?? []), event]);
    }
    // The item of a message that was typed during the work follows when the model gets it.
    for (const { words } of spare) alone.get(words)?.shift();
    events = [];
    items = [];
  };
  for (const [at, { value }] of lines.entries()) {
    const { type, payload } = codexRecord(value);
    if (type === "event_msg" && payload.type === "user_message")
      events.push({ at, words: eventWords(payload), isOwn: true });
    else if (type !== "response_item") continue;
    else if (isAnswerItem(payload)) endTurn();
    else if (payload.type === "message" && payload.role === "user") {
      const words = itemWords(payload);
      if (words !== "") items.push({ at, words, isOwn: ownText(words) !== "" });
    }
  }
  endTurn();
  return new Set([...alone.values()].flat().map(({ at }) => at));
}

function contains({ words: a }: Prompt, { words: b }: Prompt): boolean {
  const [long, short] = a.length >= b.length ? [a, b] : [b, a];
  return short.length >= MIN_TELLING_CHARS && long.includes(short);
}

/** The prompts left over when each of `others` takes the first prompt with the same words. */
function withoutSame(prompts: readonly Prompt[], others: readonly Prompt[]): Prompt[] {
  const counts = new Map<string, number>();
  for (const { words } of others) counts.set(words, (counts.get(words) ?? 0) + 1);
  return prompts.filter(({ words }) => {
    const left = counts.get(words) ?? 0;
    counts.set(words, left - 1);
    return left <= 0;
  });
}

/** An event's content: its text, its images, and markers for image files. */
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

/** Placeholders for parts of the message that Codex shows in another way, such as a large paste. */
function placeholders(event: Fields): string {
  return listAt(event, "text_elements")
    .map((element) => stringAt(element, "placeholder") ?? "")
    .join(" ");
}

/** Words of a prompt that has only images. */
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

/** The user's own words, or those of a program, without differences of white space. */
function wordsOf(texts: readonly string[]): string {
  return texts
    .map((each) => ownText(each) || each)
    .join(" ")
    .replace(IMAGE_TAGS, "")
    .replace(/\s+/g, " ")
    .trim();
}

/** An image in an item stands between tags that name it. */
const IMAGE_TAGS = /<\/?image\b[^<>]{0,200}>/g;

/** The new counts of a `token_count` event. */
export interface TokenCount {
  /** Usage of the latest request. */
  usage: Usage;
  /** Usage of requests whose own counts are not in the file. */
  lost: Usage | undefined;
  /** True if the total is smaller than before. */
  isRestart: boolean;
  /** Before 0.104 a request's counts were written before its items, since then after them. */
  isBefore: boolean;
}

/** The records from one prompt to the next. */
interface Turn {
  counts: TokenCount[];
  /** True if items precede the first count. */
  isAnsweredFirst: boolean;
  /** True if items follow the last count. */
  isAnsweredLast: boolean;
}

function newTurn(): Turn {
  return { counts: [], isAnsweredFirst: false, isAnsweredLast: false };
}

/** 1 if counts precede their items, -1 if they follow them, 0 if unknown. */
function orderOf({ counts, isAnsweredFirst, isAnsweredLast }: Turn): number {
  return counts.length === 0 ? 0 : Number(isAnsweredLast) - Number(isAnsweredFirst);
}

/**
 * The counts of a rollout by the place of their line. The order of the records in each turn decides whether counts precede
 * their items; if it does not, the other turns decide, then the version.
 */
export function tokenCounts(lines: readonly JsonLine[]): Map<number, TokenCount> {
  const totals = new Totals();
  const counts = new Map<number, TokenCount>();
  let turn = newTurn();
  const turns = [turn];
  let version: string | undefined;
  for (const [at, { value }] of lines.entries()) {
    const { type, payload } = codexRecord(value);
    if (type === "session_meta") version ??= stringAt(payload, "cli_version");
    if (isPromptRecord(type, payload) && (turn.counts.length > 0 || turn.isAnsweredLast)) {
      turn = newTurn();
      turns.push(turn);
    } else if (type === "response_item" && isAnswerItem(payload)) {
      turn.isAnsweredFirst ||= turn.counts.length === 0;
      turn.isAnsweredLast = true;
    } else if (type === "event_msg" && payload.type === "token_count") {
      const count = totals.next(fieldsAt(payload, "info"));
      if (count === undefined) continue;
      counts.set(at, count);
      turn.counts.push(count);
      turn.isAnsweredLast = false;
    }
  }
  const usual = turns.reduce((sum, each) => sum + orderOf(each), 0) || (isOlder(version) ? 1 : -1);
  for (const each of turns) for (const count of each.counts) count.isBefore = (orderOf(each) || usual) > 0;
  return counts;
}

function isPromptRecord(type: string | undefined, payload: Fields): boolean {
  if (type === "event_msg") return payload.type === "user_message";
  return type === "response_item" && payload.type === "message" && payload.role === "user";
}

/** True for a version that writes counts before the items of their request. */
function isOlder(version: string | undefined): boolean {
  const [, minor] = /^0\.(\d+)/.exec(version ?? "") ?? [];
  return minor !== undefined && Number(minor) < 104;
}

interface Counts {
  /** Includes cached tokens. */
  input: number;
  cached: number;
  cacheWrite: number;
  output: number;
  reasoning: number;
  total: number;
}

/** The totals of the session so far. Their growth is the counts of a request. */
class Totals {
  #before: Counts = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0, total: 0 };
  #last = "";

  /** Undefined for repeated counts, which come whenever rate limits change. */
  next(info: Fields | undefined): TokenCount | undefined {
    const total = countsOf(fieldsAt(info, "total_token_usage"));
    const last = countsOf(fieldsAt(info, "last_token_usage"));
    if (total === undefined) {
      const text = JSON.stringify(last);
      if (last === undefined || text === this.#last) return undefined;
      this.#last = text;
      return tokenCount(last);
    }
    const grown = difference(total, this.#before);
    this.#before = total;
    if (grown.total === 0) return undefined;
    if (grown.total < 0) return { ...tokenCount(last ?? total), isRestart: true };
    if (last === undefined || last.total > grown.total) return tokenCount(grown);
    return tokenCount(last, last.total === grown.total ? undefined : difference(grown, last));
  }
}

/** Undefined if nothing was counted. */
function countsOf(fields: Fields | undefined): Counts | undefined {
  const count = (name: string) => Math.max(0, numberAt(fields, name));
  const [input, output] = [count("input_tokens"), count("output_tokens")];
  const total = input + output || count("total_tokens");
  if (total === 0) return undefined;
  return {
    input: total - output,
    cached: count("cached_input_tokens"),
    cacheWrite: count("cache_write_input_tokens"),
    output,
    reasoning: count("reasoning_output_tokens"),
    total,
  };
}

/** The total's difference is exact; a missing part counts as input. */
function difference(a: Counts, b: Counts): Counts {
  const total = a.total - b.total;
  const output = clamped(a.output - b.output, total);
  return {
    total,
    input: total - output,
    output,
    cached: a.cached - b.cached,
    cacheWrite: a.cacheWrite - b.cacheWrite,
    reasoning: clamped(a.reasoning - b.reasoning, output),
  };
}

function clamped(value: number, max: number): number {
  return Math.max(0, Math.min(value, max));
}

function tokenCount(counts: Counts, lost?: Counts): TokenCount {
  return { usage: usageOf(counts), lost: lost && usageOf(lost), isRestart: false, isBefore: false };
}

function usageOf({ input, cached, cacheWrite: written, output, reasoning, total }: Counts): Usage {
  const cacheRead = clamped(cached, input);
  const cacheWrite = clamped(written, input - cacheRead);
  const uncached = input - cacheRead - cacheWrite;
  return requestUsage({ input: uncached, output, cacheRead, cacheWrite, reasoning, totalTokens: total });
}
