import { isRecord } from "@bonsai-agent/messages";
import { clipped } from "./run-result.ts";

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

/** The oldest leave first. */
const maxTodos = 60;
/** Of one list. */
const maxItems = 300;
const maxTodoChars = 240;
const TEXTS = ["content", "text", "step", "title", "task", "subject", "description", "name"];
const STATES = ["status", "state", "done", "completed", "checked"];
const DONE = /^(?:completed?|done|finished|closed|cancell?ed|skipped|resolved|deleted|removed|x|true)$/i;

/**
 * The list that a to-do tool is given or gives back, by its shape: records with a text and a state.
 * @param isKnown whether the tool had such a list: then an empty one counts
 */
export function listOf(fields: unknown, isKnown: boolean): ListedTodo[] | undefined {
  if (!isRecord(fields)) return undefined;
  for (const list of Object.values(fields)) {
    if (!Array.isArray(list) || list.length > maxItems) continue;
    const items = list.map(itemOf).filter((item) => item !== undefined);
    if (items.length === list.length && (isKnown || items.length > 0)) return items;
  }
  return undefined;
}

function itemOf(item: unknown): ListedTodo | undefined {
  if (!isRecord(item)) return undefined;
  const text = TEXTS.map((field) => item[field]).find(
    (value) => typeof value === "string" && value.trim() !== "",
  );
  const state = STATES.map((field) => item[field]).find((value) => /^(?:string|boolean)$/.test(typeof value));
  if (typeof text !== "string" || state === undefined) return undefined;
  return { text: clipped(text, maxTodoChars), isDone: DONE.test(String(state)) };
}

const BOX =
  /^[ \t>]{0,12}(?:(?:[-*+•]|\d{1,3}[.)])[ \t]{1,4})?(?:\[([ xX✓✔~/-])\]|([☐☑☒✅✔✓]))[ \t]{1,4}(\S.*)$/u;

/** The check boxes of a text, in order; those in a fence belong to a document that is only spoken of. */
export function boxesOf(text: string): ListedTodo[] {
  if (!/\[[ xX✓✔~/-]\]|[☐☑☒✅✔✓]/u.test(text)) return [];
  const found: ListedTodo[] = [];
  let isFenced = false;
  for (const line of text.split("\n")) {
    if (/^[ \t]{0,8}(?:```|~~~)/.test(line)) isFenced = !isFenced;
    const box = isFenced || line === "" ? null : BOX.exec(line.slice(0, 2_000));
    if (box !== null)
      found.push({
        text: clipped(box[3]!, maxTodoChars),
        isDone: /[xX✓✔☑☒✅]/u.test(box[1] ?? box[2]!),
      });
  }
  return found.slice(-maxItems);
}

interface Arrival {
  entryId: string | undefined;
  /** Whether what is open is added; else it is only ticked off. */
  adds: boolean;
}

/** The to-dos after a list of check boxes came. */
export function afterBoxes(
  todos: readonly Todo[],
  boxes: readonly ListedTodo[],
  { entryId, adds }: Arrival,
): readonly Todo[] {
  let open = todos;
  for (const { text, isDone } of boxes) {
    const known = open.filter((todo) => isSame(todo.text, text));
    if (isDone) open = open.filter((todo) => !known.includes(todo));
    else if (known.length === 0 && adds)
      open = [...open, { text, ...(entryId !== undefined && { entryId }) }].slice(-maxTodos);
  }
  return open;
}

/** The to-dos after a tool wrote its list anew. */
export function afterList(
  todos: readonly Todo[],
  list: readonly ListedTodo[],
  { tool, entryId, adds }: Arrival & { tool: string },
): readonly Todo[] {
  const open = list.filter(({ isDone }) => !isDone);
  const done = list.filter(({ isDone }) => isDone);
  const isIn = (items: readonly ListedTodo[], todo: Todo) =>
    items.some(({ text }) => isSame(todo.text, text));
  if (!adds) return todos.filter((todo) => (todo.tool === tool ? isIn(open, todo) : !isIn(done, todo)));
  const others = todos.filter((todo) => todo.tool !== tool && !isIn(list, todo));
  const listed = open.map(({ text }) => ({ text, tool, ...(entryId !== undefined && { entryId }) }));
  return [...others, ...listed].slice(-maxTodos);
}

/** The same, or nearly the same; "Migrate ledger_1" and "migrate ledger_2" are two. */
function isSame(a: string, b: string): boolean {
  if (a === b) return true;
  const [few, many] = [wordsOf(a), wordsOf(b)].sort((one, other) => one.size - other.size) as [
    Set<string>,
    Set<string>,
  ];
  const names = (words: Set<string>, others: Set<string>) =>
    [...words].some((word) => /[\d_./:#@]/.test(word) && !others.has(word));
  if (few.size === 0 || (names(few, many) && names(many, few))) return false;
  const shared = [...few].filter((word) => many.has(word)).length;
  // Who ticks off adds how it went.
  return shared / few.size >= 0.8 && shared / many.size >= (shared > 1 ? 0.3 : 0.5);
}

const WORD = /[\p{L}\p{N}\p{M}_]+(?:[./:#@-][\p{L}\p{N}\p{M}_]+)*/gu;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** Words in small letters; scripts that set no spaces count by pairs of signs. */
function wordsOf(text: string): Set<string> {
  const words = new Set<string>();
  for (const [word] of text.normalize("NFKC").toLowerCase().matchAll(WORD)) {
    if (!UNSPACED.test(word) || word.length < 3) words.add(word);
    else for (let at = 0; at < word.length - 1; at++) words.add(word.slice(at, at + 2));
  }
  return words;
}
