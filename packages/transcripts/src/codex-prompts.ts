import type { UserContent } from "@bonsai-agent/messages";
import { codexRecord, isAnswerItem } from "./codex-items.ts";
import { imageOfUrl, text } from "./content.ts";
import { type Fields, listAt, stringAt, stringsAt } from "./fields.ts";
import { ownText } from "./injected.ts";
import type { JsonLine } from "./json-lines.ts";
import { NoticeLog } from "./notices.ts";

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
export function eventContent(event: Fields, notices = new NoticeLog(), line?: number): UserContent[] {
  const said = stringAt(event, "message") || placeholders(event);
  const images = stringsAt(event, "images").map(
    (url) => imageOfUrl(url) ?? text(`[image: ${url.slice(0, 500)}]`),
  );
  const files = stringsAt(event, "local_images").map((path) => text(`[image: ${path}]`));
  const content = [...(said.trim() === "" ? [] : [text(said)]), ...images, ...files];
  for (const block of content.slice(said.trim() === "" ? 0 : 1))
    if (block.type === "text") notices.add("image_not_stored", line);
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
