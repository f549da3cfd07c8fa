import { isRecord, textHead } from "@bonsai-agent/messages";
import { clipped } from "./run-result.ts";
import { contentWords, normalForm, termsIn } from "./sentence.ts";

export interface Todo {
  text: string;
  entryId?: string | undefined;
  /** The tool whose list it is in: its next list takes the place of this one. */
  tool?: string | undefined;
}

export interface ListedTodo {
  text: string;
  isDone: boolean;
}

const maxTodoChars = 240;
/** The open ones that are kept; the oldest leave first. */
const maxTodos = 60;
/** Of one list. */
const maxItems = 300;
const TEXTS = ["content", "text", "step", "title", "task", "subject", "description", "name"];
const STATES = ["status", "state", "done", "completed", "checked"];
const DONE = /^(?:completed?|done|finished|closed|cancell?ed|skipped|resolved|deleted|removed|true)$/i;

/**
 * The list that a to-do tool is given or gives back, by its shape: records with a text and a state.
 * @param isKnown whether the tool had such a list: then an empty one counts
 */
export function listOf(fields: unknown, isKnown: boolean): ListedTodo[] | undefined {
  for (const list of Object.values(isRecord(fields) ? fields : {})) {
    if (!Array.isArray(list) || list.length > maxItems) continue;
    const items = list.flatMap(itemOf);
    if (items.length === list.length && (isKnown || items.length > 0)) return items;
  }
  return undefined;
}

function itemOf(item: unknown): ListedTodo[] {
  const fields = isRecord(item) ? item : {};
  const text = TEXTS.map((field) => fields[field]).find((value) => typeof value === "string" && value !== "");
  const state = STATES.map((field) => fields[field]).find((value) => /^(?:str|bool)/.test(typeof value));
  if (text === undefined || state === undefined) return [];
  return [{ text: clipped(String(text), maxTodoChars), isDone: DONE.test(String(state)) }];
}

const BOX =
  /^[ \t>]{0,12}(?:(?:[-*+•]|\d{1,3}[.)])[ \t]{1,4})?(?:\[([ xX✓✔~/-])\]|([☐☑☒✅✔✓]))[ \t]{1,4}(\S.*)$/u;

/** The check boxes of a text, in order; those in a fence belong to a document that is only spoken of. */
export function boxesOf(text: string): ListedTodo[] {
  if (!/\[[ xX✓✔~/-]\]|[☐☑☒✅✔✓]/u.test(text)) return [];
  let isFenced = false;
  const found = text.split("\n").flatMap((line): ListedTodo[] => {
    if (line === "") return [];
    if (/^[ \t]{0,8}(?:```|~~~)/.test(line)) isFenced = !isFenced;
    const [, box, sign, task] = (isFenced ? null : BOX.exec(textHead(line, 2_000))) ?? [];
    if (task === undefined) return [];
    return [{ text: task, isDone: /[xX✓✔☑☒✅]/u.test(box ?? sign!) }];
  });
  return found.slice(-maxItems).map(({ text, isDone }) => ({ text: clipped(text, maxTodoChars), isDone }));
}

/**
 * The to-dos after a list came. That of a tool takes the place of its last, unless the two have nothing in common: then
 * another piece of work was begun.
 * @param adds whether what is open is added; else it is only ticked off
 */
export function afterTodos(
  todos: readonly Todo[],
  list: readonly ListedTodo[],
  { adds, tool, ...source }: Omit<Todo, "text"> & { adds: boolean },
): readonly Todo[] {
  if (list.length === 0 && tool === undefined) return todos;
  const items = list.map(worded);
  const isListed = (todo: Worded<Todo>) => items.some((item) => likeness(todo, item) === 1);
  const own = todos.filter((todo) => tool !== undefined && todo.tool === tool).map(worded);
  const goesOn = items.length === 0 || own.some((todo) => items.some((item) => likeness(todo, item) > 0));
  const isOwn = (todo: Todo) => goesOn && tool !== undefined && todo.tool === tool;
  let open = todos.filter((todo) => !adds || !isOwn(todo)).map(worded);
  if (!adds) open = open.filter((todo) => !isOwn(todo) || isListed(todo));
  for (const item of items) {
    const rated = open.map((todo) => likeness(todo, item));
    const best = Math.max(...rated, item.isDone ? MOST : 1);
    if (item.isDone) open = open.filter((_, at) => rated[at]! < best);
    else if (adds && !rated.includes(1)) open = [...open, { ...item, ...source, tool }];
  }
  return open.slice(-maxTodos).map(({ text, tool, entryId }) => ({ text, tool, entryId }));
}

/** What part of its words a to-do shares with that which ticks it off. */
const MOST = 0.8;

type Worded<Item> = Item & { words: readonly string[]; names: readonly string[] };

/** In scripts without spaces pairs of signs count as words as well. */
function worded<Item extends { text: string }>(item: Item): Worded<Item> {
  const words = new Set([...contentWords(item.text), ...normalForm(item.text).split(" ")]);
  return { ...item, words: [...words], names: [...termsIn(item.text)] };
}

/** How much of the shorter text is in the longer, which may add how it went; names that differ make two to-dos. */
function likeness(a: Worded<{ text: string }>, b: Worded<{ text: string }>): number {
  const [few, many] = a.words.length < b.words.length ? [a.words, b.words] : [b.words, a.words];
  const shared = few.filter((word) => many.includes(word)).length;
  const isFar = shared < MOST * few.length || shared < many.length * (shared > 1 ? 0.3 : 0.5);
  const differ =
    a.names.some((name) => !b.text.includes(name)) && b.names.some((name) => !a.text.includes(name));
  return isFar || differ ? 0 : shared / few.length;
}
